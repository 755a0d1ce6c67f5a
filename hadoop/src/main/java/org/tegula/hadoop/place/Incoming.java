package org.tegula.hadoop.place;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.tegula.hadoop.api.PlaceCounter;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.live.Promises;
import org.tegula.hadoop.memory.NoRoomException;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.task.JobResources;
import org.tegula.hadoop.task.TaskReporter;

/**
 * The output of maps of other places that is reduced at this one, of one job. Each map's part for the place is fetched once,
 * by the first reduce that needs it, and stays until the job has ended.
 */
final class Incoming {
    private final int place;
    private final int places;
    private final JobResources job;
    private final Sources sources;
    private final LiveValues live;
    private final Map<String, Moved> moved = new HashMap<>();
    /** Streams that wait for other machines. */
    private final Set<Abortable> reading = new HashSet<>();

    private boolean closed;

    /** A stream whose reader may wait for another machine. */
    interface Abortable {
        /** Lets the reader fail now, without a wait. */
        void abort();
    }

    /** Opens the streams of other places. */
    interface Sources {
        /** The stream of a {@link RunEncoder}; it is read to its end or closed. */
        InputStream open(MapOutput output, int[] partitions, boolean objects) throws IOException;
    }

    Incoming(int place, int places, JobResources job, Sources sources) {
        this.place = place;
        this.places = places;
        this.job = job;
        this.sources = sources;
        this.live = Promises.passObjects(job.conf()) ? job.live() : null;
    }

    /** All runs that a reduce of this place reads, in the order of their maps. */
    List<Run> runs(List<MapOutput> outputs, int partition, TaskReporter reporter)
            throws IOException, InterruptedException {
        int partitions = job.conf().getNumReduceTasks();
        // Reduces of this place begin with different maps, so that each fetches some of them.
        for (int i = 0; i < outputs.size(); i++) {
            MapOutput output = outputs.get((i + partition / places) % outputs.size());
            if (output.place() != place) {
                reporter.progress();
                moved(output).fetch(partitions);
            }
        }
        List<Run> all = new ArrayList<>();
        long stayed = 0;
        for (MapOutput output : outputs) {
            if (output.place() == place) {
                all.addAll(output.runs());
                stayed += output.refs().stream()
                        .mapToLong(ref -> ref.records()[partition])
                        .sum();
            } else {
                all.addAll(moved(output).count(partition, reporter));
            }
        }
        reporter.getCounter(PlaceCounter.PAIRS_STAYED).increment(stayed);
        return all;
    }

    private synchronized Moved moved(MapOutput output) throws IOException {
        if (closed) {
            throw new IOException("The job has ended");
        }
        return moved.computeIfAbsent(output.attempt(), name -> new Moved(output));
    }

    private synchronized void begin(InputStream stream) throws IOException {
        if (stream instanceof Abortable remote) {
            reading.add(remote);
            if (closed) {
                remote.abort();
            }
        }
        if (closed) {
            throw new IOException("The job has ended");
        }
    }

    private synchronized void end(InputStream stream) {
        if (stream instanceof Abortable remote) {
            reading.remove(remote);
        }
    }

    /** Gives up all copies. Those that are still fetched are waited for, so their streams end first. */
    void close() {
        List<Moved> all;
        synchronized (this) {
            closed = true;
            reading.forEach(Abortable::abort);
            all = new ArrayList<>(moved.values());
            moved.clear();
        }
        all.forEach(Moved::release);
    }

    /** The partitions of this place. */
    static int[] partitionsOf(int place, int places, int partitions) {
        int[] own = new int[(partitions - place + places - 1) / places];
        for (int i = 0; i < own.length; i++) {
            own[i] = place + i * places;
        }
        return own;
    }

    /** What is here of one map's output. */
    private final class Moved {
        private final MapOutput output;
        private List<Run> runs;
        private RunDecoder facts;
        private boolean released;

        Moved(MapOutput output) {
            this.output = output;
        }

        synchronized void fetch(int partitions) throws IOException, InterruptedException {
            if (runs != null) {
                return;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException("The task was stopped");
            }
            int[] own = partitionsOf(place, places, partitions);
            boolean objects = live != null && live.hasRoomFor(hiddenBytes(own));
            try {
                fetch(own, objects);
            } catch (NoRoomException e) {
                if (!objects) {
                    throw e;
                }
                fetch(own, false);
            }
        }

        private void fetch(int[] own, boolean objects) throws IOException {
            List<Run> copies;
            InputStream stream = sources.open(output, own, objects);
            try (stream) {
                begin(stream);
                facts = new RunDecoder(stream, own.length, live, job.memory(), job.disk(), job.conf());
                copies = facts.read(output.refs().size());
            } finally {
                end(stream); // only now: it may also wait for its end when it is closed
            }
            if (released) {
                copies.forEach(Run::release);
                throw new IOException("The job has ended");
            }
            runs = new ArrayList<>();
            for (int i = 0; i < copies.size(); i++) {
                runs.add(new MovedRun(output.refs().get(i), copies.get(i), places));
            }
        }

        private long hiddenBytes(int[] own) {
            long hidden = 0;
            for (RunRef ref : output.refs()) {
                for (int partition : own) {
                    hidden += Math.max(0, ref.whole()[partition] - ref.bytes()[partition]);
                }
            }
            return hidden;
        }

        synchronized List<Run> count(int partition, TaskReporter reporter) {
            int here = partition / places;
            reporter.getCounter(PlaceCounter.PAIRS_MOVED).increment(facts.records[here]);
            reporter.getCounter(PlaceCounter.PAIRS_SHARED).increment(facts.shared[here]);
            reporter.getCounter(PlaceCounter.BYTES_MOVED).increment(facts.bytes[here]);
            return runs;
        }

        synchronized void release() {
            released = true;
            if (runs != null) {
                runs.forEach(Run::release);
            }
        }
    }
}
