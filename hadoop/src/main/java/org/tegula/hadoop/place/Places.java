package org.tegula.hadoop.place;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
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
        throw new IllegalArgumentException(Settings.PLACES + " is " + named + ": set it to local:4, or to nothing");
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
    }
}
