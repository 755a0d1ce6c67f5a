package org.tegula.hadoop.wire;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.tegula.hadoop.job.ClassFilesTarget;
import org.tegula.hadoop.job.HistoriesTarget;
import org.tegula.hadoop.place.CallsTarget;
import org.tegula.hadoop.place.JobMessagesTarget;
import org.tegula.hadoop.place.MessagesTarget;
import org.tegula.hadoop.place.RequestsTarget;
import org.tegula.hadoop.place.StreamsTarget;
import org.tegula.hadoop.run.SpillsTarget;
import org.tegula.hadoop.server.AnswersTarget;
import org.tegula.hadoop.server.SecretsTarget;
import org.tegula.hadoop.task.SplitsTarget;

/**
 * All targets, and what they have in common: a reader refuses by an {@link IOException}, ends soon, and makes little more than it
 * reads.
 */
public final class Targets {
    private static final Map<String, Target> ALL = new TreeMap<>(Map.ofEntries(
            Map.entry("answers", new AnswersTarget()),
            Map.entry("calls", new CallsTarget()),
            Map.entry("classes", new ClassFilesTarget()),
            Map.entry("histories", new HistoriesTarget()),
            Map.entry("jobs", new JobMessagesTarget()),
            Map.entry("messages", new MessagesTarget()),
            Map.entry("requests", new RequestsTarget()),
            Map.entry("secrets", new SecretsTarget()),
            Map.entry("spills", new SpillsTarget()),
            Map.entry("splits", new SplitsTarget()),
            Map.entry("streams", new StreamsTarget())));

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final long MOST_NANOS = Duration.ofSeconds(10).toNanos();
    private static final long MOST_BYTES = 4 << 20;
    private static final long MOST_BYTES_PER_BYTE = 1 << 10;

    private Targets() {}

    /** All targets by their names. */
    static Map<String, Target> all() {
        return ALL;
    }

    /** Gives bytes to a target; returns whether they were accepted. */
    static boolean read(Target target, byte[] bytes) {
        long madeBefore = THREADS.getCurrentThreadAllocatedBytes();
        boolean accepted = readSoon(target, bytes);
        long most = MOST_BYTES + bytes.length * MOST_BYTES_PER_BYTE;
        if (!target.believesLengths() && THREADS.getCurrentThreadAllocatedBytes() - madeBefore > most) {
            checkMade(target, bytes, most);
        }
        return accepted;
    }

    /** Reads again, when all classes are loaded. */
    private static void checkMade(Target target, byte[] bytes, long most) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        readSoon(target, bytes);
        long made = THREADS.getCurrentThreadAllocatedBytes() - before;
        if (made > most) {
            throw new AssertionError(made + " bytes were made for an input of " + bytes.length);
        }
    }

    private static boolean readSoon(Target target, byte[] bytes) {
        long began = THREADS.getCurrentThreadCpuTime();
        boolean accepted = true;
        try {
            target.read(bytes);
        } catch (IOException e) {
            accepted = false;
        } catch (OutOfMemoryError e) {
            if (!target.believesLengths()) {
                throw e;
            }
        }
        long nanos = THREADS.getCurrentThreadCpuTime() - began;
        if (nanos > MOST_NANOS) {
            throw new AssertionError(nanos + " ns for an input of " + bytes.length + " bytes");
        }
        return accepted;
    }
}
