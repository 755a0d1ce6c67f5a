package org.tegula.hadoop.place;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.files.DriverFiles;
import org.tegula.hadoop.files.HeldForPlaces;

/** The driver's end of all places in other JVMs: has them started, and takes their connections. */
final class PlaceHub implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(PlaceHub.class);

    /** After the files that are in memory alone were written, for which the places must be there. */
    private static final int SHUTDOWN_PRIORITY = 12;

    private final Configuration conf;
    /** As they were when the places were started: all of them have these. */
    private final Map<String, String> settings;

    private final PlaceLauncher launcher;
    private final int slotsPerPlace;
    private final byte[] secret = Handshake.newSecret();
    private final String folder = "tegula-place-" + UUID.randomUUID();
    private final Port port;
    private final List<RemotePlace> places = new ArrayList<>();
    /** Numbers of places whose processes are about to be started. */
    private final Set<Integer> starting = ConcurrentHashMap.newKeySet();

    private final DataClient data;
    private final DriverFiles files;
    private final int silenceMillis;
    private volatile boolean closed;
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "tegula-places");
        thread.setDaemon(true);
        return thread;
    });

    PlaceHub(Configuration conf, PlaceLauncher launcher, int count, int slotsPerPlace) throws IOException {
        this.conf = conf;
        this.settings = SentSettings.all(conf);
        this.launcher = launcher;
        this.slotsPerPlace = slotsPerPlace;
        silenceMillis = silenceMillis(conf);
        data = new DataClient(secret, silenceMillis);
        files = new HeldForPlaces(conf);
        port = new Port(InetAddress.getByName(conf.getTrimmed(Settings.PLACES_HOST, Settings.SERVER_HOST_DEFAULT)));
        for (int i = 0; i < count; i++) {
            places.add(new RemotePlace(i, this));
        }
        threads.execute(() -> port.serve(threads, this::greet));
        for (RemotePlace each : places) {
            PairCache.shared(conf).listen(each);
            start(each);
        }
        ShutdownHookManager.get().addShutdownHook(this::close, SHUTDOWN_PRIORITY);
    }

    /** After how long a silent place, or the data of one, counts as gone. */
    static int silenceMillis(Configuration conf) {
        return 1000 * conf.getInt(Settings.PLACES_LEASE_SECONDS, Settings.PLACES_LEASE_SECONDS_DEFAULT);
    }

    List<RemotePlace> places() {
        return places;
    }

    Configuration conf() {
        return conf;
    }

    Map<String, String> settings() {
        return settings;
    }

    /** The files that this JVM has in memory. */
    DriverFiles files() {
        return files;
    }

    /** Fetches files that are in the memory of places. */
    DataClient data() {
        return data;
    }

    int slotsPerPlace() {
        return slotsPerPlace;
    }

    PairCache cache() {
        return PairCache.shared(conf);
    }

    /** Host and port of each place's data now; empty for a place that is not there. */
    List<String> dataOfAll() {
        return places.stream().map(RemotePlace::data).toList();
    }

    /** The other places that are started again when this one is. */
    List<RemotePlace> startingWith(RemotePlace lost) {
        return launcher.startsAllAgain()
                ? places.stream().filter(each -> each != lost).toList()
                : List.of();
    }

    /** Whether the process that was started last for a place may still connect. */
    boolean mayConnect(RemotePlace place) {
        return starting.contains(place.number()) || launcher.mayConnect(place.number());
    }

    /** Starts the process of a place, without waiting for it, unless another thread is about to. */
    void start(RemotePlace place) {
        if (closed || !starting.add(place.number())) {
            return;
        }
        try {
            threads.execute(() -> launch(place));
        } catch (RuntimeException | Error e) { // such as no room for a thread
            refuse(place, e);
        }
    }

    private void launch(RemotePlace place) {
        try {
            launcher.start(new Invitation(
                    port.host(), port.number(), place.number(), HexFormat.of().formatHex(secret)));
        } catch (Throwable e) {
            refuse(place, e);
            return;
        }
        starting.remove(place.number());
    }

    private void refuse(RemotePlace place, Throwable why) {
        starting.remove(place.number()); // from now on it can be started again
        place.refuse("it cannot be started: " + why);
        LOG.error("Place {} cannot be started", place.number(), why);
    }

    private void greet(Socket accepted) {
        try {
            Handshake.prove(accepted, secret, true);
            new Guest(accepted).begin();
        } catch (IOException | RuntimeException | Error e) { // also no room for a thread
            LOG.warn("{} is not taken as a place: {}", accepted.getRemoteSocketAddress(), e.toString());
            try {
                accepted.close();
            } catch (IOException late) {
                LOG.debug("A connection could not be closed", late);
            }
        }
    }

    /** A connection, whose place is known after its greeting. */
    private final class Guest {
        private final Calls calls;
        private volatile RemotePlace place;

        Guest(Socket accepted) throws IOException {
            calls = new Calls(accepted, silenceMillis, this::handle, threads, this::end);
        }

        void begin() {
            calls.start("place");
        }

        private Body handle(Op op, Message in) throws IOException {
            if (op != Op.HELLO) {
                return place == null ? Body.EMPTY : place.handle(op, in);
            }
            int number = in.readInt();
            long pid = in.readLong();
            String data = in.text();
            place = Message.at(number, places.toArray(RemotePlace[]::new));
            String own = folder + "-" + number + "-" + pid; // also places on one machine share the disk
            place.connected(calls, pid, data, own);
            return out -> {
                out.writeInt(slotsPerPlace);
                Text.writeString(out, own);
                new SentSettings(settings, List.of()).write(out);
            };
        }

        private void end(String why) {
            if (place != null && !closed) {
                place.lost(calls, why);
            }
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        for (RemotePlace each : places) {
            cache().ignore(each);
            each.close();
        }
        launcher.close();
        try {
            port.close();
        } catch (IOException e) {
            LOG.debug("The port of the places could not be closed", e);
        }
        threads.shutdownNow();
    }
}
