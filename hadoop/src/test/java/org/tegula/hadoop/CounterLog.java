package org.tegula.hadoop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.tegula.hadoop.api.PlaceCounter;

/** Takes the counters of jobs from the log of Hadoop's client. */
final class CounterLog extends AppenderSkeleton implements AutoCloseable {
    /** Counters that differ from run to run, depend on the engine, or exist in one of the two alone. */
    private static final Set<String> OWN = Set.of(
            PlaceCounter.BYTES_MOVED.name(),
            PlaceCounter.PAIRS_MOVED.name(),
            PlaceCounter.PAIRS_SHARED.name(),
            PlaceCounter.PAIRS_STAYED.name(),
            "CPU time spent (ms)",
            "Combine input records",
            "Combine output records",
            "FILE: Number of bytes read",
            "FILE: Number of bytes written",
            "FILE: Number of large read operations",
            "FILE: Number of read operations",
            "FILE: Number of write operations",
            "Failed Shuffles",
            "GC time elapsed (ms)",
            "Input split bytes", // with the name of a folder that grep draws anew
            "Killed map tasks",
            "Launched map tasks",
            "Launched reduce tasks",
            "Map output materialized bytes",
            "Reduce shuffle bytes",
            "Spilled Records",
            "Total committed heap usage (bytes)");

    private final Logger logger = Logger.getLogger("org.apache.hadoop.mapreduce.Job");
    private final Level before = logger.getLevel();
    private final List<Map<String, Long>> jobs = new ArrayList<>();

    CounterLog() {
        logger.setLevel(Level.INFO);
        logger.addAppender(this);
    }

    /** The counters of each job, in the order in which they ended, zeros left out: an engine need not mention them. */
    synchronized List<Map<String, Long>> jobs() {
        return List.copyOf(jobs);
    }

    @Override
    protected synchronized void append(LoggingEvent event) {
        String text = event.getRenderedMessage();
        if (!text.startsWith("Counters: ")) {
            return;
        }
        Map<String, Long> counters = new TreeMap<>();
        text.lines().filter(line -> line.contains("=")).forEach(line -> {
            int end = line.lastIndexOf('=');
            long value = Long.parseLong(line.substring(end + 1).trim());
            String name = line.substring(0, end).trim();
            if (value != 0 && !OWN.contains(name)) {
                counters.put(name, value);
            }
        });
        jobs.add(counters);
    }

    @Override
    public void close() {
        if (!closed) { // an appender's finalizer closes it, too
            closed = true;
            logger.removeAppender(this);
            logger.setLevel(before);
        }
    }

    @Override
    public boolean requiresLayout() {
        return false;
    }
}
