package org.tegula.hadoop.place;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import org.apache.hadoop.io.Text;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.PairsLost;
import org.tegula.hadoop.cache.PlacedPairs;
import org.tegula.hadoop.cache.SequencePairs;

/** A place in another JVM, as the driver sees it. When it is lost, another JVM becomes the place of its number. */
final class RemotePlace implements Place, PairCache.Listener {
    private static final Logger LOG = LoggerFactory.getLogger(RemotePlace.class);
    private static final long START_MILLIS = 180_000;
    private static final long LOOK_MILLIS = 2000;
    private static final int MOST_STARTS = 3;
    private static final String ENDED_EARLY =
            "its JVM ended " + (MOST_STARTS + 1) + " times before it connected: see what"
                    + " it has printed, and the options in " + Settings.PLACES_JAVA_OPTS;

    private final int number;
    private final PlaceHub hub;
    private final Set<RemotePlaceJob> jobs = ConcurrentHashMap.newKeySet();
    private final ExecutorService notices;
    private Calls calls;
    private long pid;
    private String data = "";
    private String refused;
    private String folder = "";
    private volatile PlaceState state = PlaceState.UNKNOWN;

    RemotePlace(int number, PlaceHub hub) {
        this.number = number;
        this.hub = hub;
        notices = Executors.newSingleThreadExecutor(work -> {
            Thread thread = new Thread(work, "tegula-notices-for-place-" + number);
            thread.setDaemon(true);
            return thread;
        });
    }

    /** The process of the place is there, and has sent its greeting. */
    synchronized void connected(Calls to, long process, String dataAddress, String folderName) {
        calls = to;
        pid = process;
        data = dataAddress;
        folder = folderName;
        refused = null;
        notifyAll();
    }

    /** It cannot be started: who waits for it fails, and who does so later has it started again. */
    synchronized void refuse(String why) {
        refused = why;
        notifyAll();
    }

    /** The connection has ended: jobs that have begun here fail, and another process becomes the place. */
    void lost(Calls ended, String why) {
        PlaceLost loss;
        synchronized (this) {
            if (calls != ended) {
                return;
            }
            loss = forget(why);
        }
        LOG.warn("{}", loss.getMessage());
        // Before a job can begin again, or it would begin at places that are about to end, too.
        hub.startingWith(this).forEach(each -> each.giveUp(loss));
        fail(loss);
        hub.start(this);
    }

    private synchronized PlaceLost forget(String why) {
        PlaceLost loss = new PlaceLost(name(), why);
        calls = null;
        data = "";
        state = PlaceState.UNKNOWN;
        return loss;
    }

    private void fail(PlaceLost loss) {
        hub.cache().lostElsewhere(number * hub.slotsPerPlace(), (number + 1) * hub.slotsPerPlace());
        jobs.forEach(each -> each.lost(loss));
        jobs.clear();
    }

    /** Ends the process of the place, because another was lost; its jobs fail with that loss. */
    private void giveUp(PlaceLost first) {
        Calls now;
        synchronized (this) {
            now = calls;
            if (now == null) {
                return;
            }
            forget(first.getMessage());
        }
        now.close();
        fail(first);
    }

    /** The name of the folders in which the present process of the place spills. */
    synchronized String folder() {
        return folder;
    }

    PlaceState state() {
        return state;
    }

    int number() {
        return number;
    }

    synchronized String data() {
        return data;
    }

    synchronized long pid() {
        return pid;
    }

    /** Waits for the process of the place. One that has ended before it connected is started again, some times. */
    synchronized Calls await() throws PlaceLost, InterruptedException {
        long end = System.currentTimeMillis() + START_MILLIS;
        int ended = 0;
        if (calls == null && refused != null) { // what was in its way, such as a full disk, may be gone
            refused = null;
            hub.start(this);
        }
        while (calls == null && refused == null && System.currentTimeMillis() < end) {
            wait(Math.max(1, Math.min(LOOK_MILLIS, end - System.currentTimeMillis())));
            if (calls == null && !hub.mayConnect(this)) {
                if (++ended > MOST_STARTS) {
                    throw new PlaceLost("Place " + number, ENDED_EARLY);
                }
                hub.start(this);
            }
        }
        if (calls == null) {
            String why = refused == null ? "its JVM did not connect in " + START_MILLIS / 1000 + " seconds" : refused;
            throw new PlaceLost("Place " + number, why);
        }
        return calls;
    }

    /** Host and port of each place's data now. */
    List<String> peers() {
        return hub.dataOfAll();
    }

    JobSpec spec(PlacedJob job) throws IOException {
        return new JobSpec(
                job.id().toString(),
                job.folder().path(),
                job.user().getShortUserName(),
                job.resources().bufferBytes(),
                hub.places().size(),
                SentSettings.of(hub.settings(), job.resources().conf()),
                job.resources().conf().getCredentials(),
                job.resources().splits().contents(job.resources().conf()));
    }

    /** Tells a job of the loss of the process where it has begun from now on; fails if another one is the place already. */
    void begun(RemotePlaceJob job, Calls there) throws PlaceLost {
        jobs.add(job);
        synchronized (this) {
            if (calls != there) {
                throw new PlaceLost(name(), Calls.CONNECTION_ENDED);
            }
        }
    }

    void ended(RemotePlaceJob job) {
        jobs.remove(job);
    }

    /** Answers the place's own calls. */
    Body handle(Op op, Message in) throws IOException {
        if (op == Op.FILES) {
            return FileCalls.answer(in, hub.files(), this);
        }
        if (op == Op.MAY_COMMIT) {
            boolean may = mayCommit(in.readUTF());
            return out -> out.writeBoolean(may);
        }
        if (op != Op.REPORT) {
            throw new IOException("The driver is not asked for " + op);
        }
        state = PlaceState.read(in);
        for (int left = in.count(Short.BYTES); left > 0; left--) {
            String attempt = in.readUTF();
            AttemptFacts facts = AttemptFacts.read(in);
            for (RemotePlaceJob job : jobs) {
                RemoteAttempt running = job.running(attempt);
                if (running != null) {
                    running.hear(facts);
                }
            }
        }
        return Body.EMPTY;
    }

    private boolean mayCommit(String attempt) throws IOException {
        for (RemotePlaceJob job : jobs) {
            RemoteAttempt running = job.running(attempt);
            if (running != null) {
                return !running.isStopped() && job.mayCommit(running);
            }
        }
        return false;
    }

    /** A file whose pairs are at this place. */
    SequencePairs pairs(String id, long length, int home) {
        return new PlacedPairs(length, home, new HeldHere(id), hub.conf());
    }

    /** The name of pairs at a place; empty for others. */
    static String idOf(SequencePairs pairs) {
        return pairs instanceof PlacedPairs placed ? placed.source().id() : "";
    }

    /** Pairs of a file, as long as the process of the place is the one that has them. */
    private final class HeldHere implements PlacedPairs.Source {
        private final String id;
        private final String owner = name();
        private final Calls there;
        private final String address;

        HeldHere(String id) {
            this.id = id;
            synchronized (RemotePlace.this) {
                there = calls;
                address = data;
            }
        }

        private synchronized boolean isThere() {
            synchronized (RemotePlace.this) {
                return there != null && there == calls;
            }
        }

        @Override
        public String id() {
            return id;
        }

        @Override
        public void writeTo(OutputStream out) throws IOException {
            if (!isThere()) {
                throw new PairsLost(owner);
            }
            try (InputStream in = hub.data().openHeld(address, owner, id)) {
                in.transferTo(out);
            }
        }

        @Override
        public void release() {
            later(() -> {
                if (isThere()) {
                    there.send(Op.DROP, out -> out.writeUTF(id));
                }
            });
        }
    }

    /** Does something in a thread of its own, in turn. */
    void later(Runnable notice) {
        try {
            notices.execute(notice);
        } catch (RejectedExecutionException e) {
            LOG.debug("{} is closed already", name(), e);
        }
    }

    /** Changes the place's cache soon, in the order of the changes. */
    private void changeCache(Op op, String... paths) {
        later(() -> {
            Calls now;
            synchronized (this) {
                now = calls;
            }
            if (now != null) {
                now.send(op, out -> {
                            for (String each : paths) {
                                Text.writeString(out, each);
                            }
                        })
                        .exceptionally(e -> {
                            LOG.debug("{} has not changed its cache", name(), e);
                            return null;
                        })
                        .join();
            }
        });
    }

    /** Passes a change of the driver's files on. */
    @Override
    public void forgotten(String path) {
        changeCache(Op.FORGET, path);
    }

    @Override
    public void renamed(String from, String to) {
        changeCache(Op.RENAMED, from, to);
    }

    @Override
    public PlaceJob begin(PlacedJob job, List<PlaceJob> all) {
        return new RemotePlaceJob(this, job);
    }

    @Override
    public synchronized String name() {
        return "Place " + number + (pid == 0 ? "" : " (process " + pid + ")");
    }

    @Override
    public void close() {
        Calls now;
        synchronized (this) {
            now = calls;
            calls = null;
        }
        if (now != null) {
            now.close();
        }
        notices.shutdownNow();
    }
}
