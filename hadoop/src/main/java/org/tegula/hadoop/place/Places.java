package org.tegula.hadoop.place;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.engine.Slots;

/**
 * The places of an engine. Partition i of every job belongs to place i modulo their number, for the life of the engine, and so
 * does the split that reads it.
 */
public final class Places implements Closeable {
    private static final Pattern LOCAL = Pattern.compile("local:([1-9][0-9]{0,2})");

    private final Slots slots;
    private final List<Place> places = new ArrayList<>();
    /** Null if all places are in this JVM. */
    private PlaceHub hub;

    private Places(Slots slots) {
        this.slots = slots;
    }

    /**
     * The places that a configuration names.
     *
     * @param conf of the engine
     * @param workers how many tasks run at once, over all places; each place has at least one
     * @return the places
     */
    public static Places of(Configuration conf, int workers) {
        String named = conf.getTrimmed(Settings.PLACES, "");
        Matcher local = LOCAL.matcher(named);
        if (named.isEmpty()) {
            return local(1, workers);
        }
        if (local.matches()) {
            return local(Integer.parseInt(local.group(1)), workers);
        }
        List<PlaceLauncher> launchers = new ArrayList<>(List.of(new JvmLauncher()));
        ServiceLoader.load(PlaceLauncher.class).forEach(launchers::add);
        try {
            for (PlaceLauncher each : launchers) {
                int count = each.prepare(named, conf);
                if (count > 0) {
                    return remote(conf, each, count, workers);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The places of " + Settings.PLACES + "=" + named + " cannot be started", e);
        }
        throw new IllegalArgumentException(Settings.PLACES + " is " + named
                + ", which no launcher on the class path knows: set it to jvm:4 for four JVMs, or to nothing");
    }

    private static Places remote(Configuration conf, PlaceLauncher launcher, int count, int workers)
            throws IOException {
        Places made = new Places(new Slots(count, (workers + count - 1) / count));
        made.hub = new PlaceHub(conf, launcher, count, made.slots.count() / count);
        made.places.addAll(made.hub.places());
        return made;
    }

    /**
     * Whether tasks run in other JVMs, which do not have the files that this one has in memory.
     *
     * @return false if all places are in this JVM
     */
    public boolean areElsewhere() {
        return hub != null;
    }

    /**
     * Places in this JVM.
     *
     * @param count how many
     * @param workers how many tasks run at once, over all places; each place has at least one
     * @return the places
     */
    public static Places local(int count, int workers) {
        Places made = new Places(new Slots(count, (workers + count - 1) / count));
        for (int i = 0; i < count; i++) {
            made.places.add(new LocalPlace(i, count, made.slots));
        }
        return made;
    }

    /**
     * The slots of all places.
     *
     * @return the slots themselves
     */
    public Slots slots() {
        return slots;
    }

    /**
     * How many there are.
     *
     * @return their number
     */
    public int count() {
        return places.size();
    }

    /**
     * What the JVMs of places have in memory.
     *
     * @return their states by their names; empty if all places are in this JVM
     */
    public Map<String, PlaceState> states() {
        Map<String, PlaceState> all = new LinkedHashMap<>();
        if (hub != null) {
            hub.places().forEach(each -> all.put(each.name(), each.state()));
        }
        return all;
    }

    /**
     * Begins a job at all places.
     *
     * @param job the job
     * @return its parts by the numbers of the places, to be closed
     * @throws IOException if a place is lost
     */
    public List<PlaceJob> begin(PlacedJob job) throws IOException {
        List<PlaceJob> all = new ArrayList<>();
        for (Place each : places) {
            all.add(each.begin(job, all));
        }
        return all;
    }

    @Override
    public void close() {
        places.forEach(Place::close);
        if (hub != null) {
            hub.close();
        }
    }
}
