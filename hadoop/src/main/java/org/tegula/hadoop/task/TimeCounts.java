package org.tegula.hadoop.task;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapreduce.TaskCounter;

/**
 * The processor time of the attempt's own thread, and the time for which the JVM collected garbage meanwhile: all tasks that
 * run at that time count it.
 */
final class TimeCounts {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final long processorNanos = processorNanos();
    private final long collectorMillis = collectorMillis();

    void addTo(TaskReporter reporter) {
        long nanos = processorNanos() - processorNanos;
        reporter.getCounter(TaskCounter.CPU_MILLISECONDS).increment(TimeUnit.NANOSECONDS.toMillis(nanos));
        reporter.getCounter(TaskCounter.GC_TIME_MILLIS).increment(collectorMillis() - collectorMillis);
    }

    private static long processorNanos() {
        return THREADS.isCurrentThreadCpuTimeSupported() ? THREADS.getCurrentThreadCpuTime() : 0;
    }

    private static long collectorMillis() {
        long millis = 0;
        for (GarbageCollectorMXBean each : ManagementFactory.getGarbageCollectorMXBeans()) {
            millis += Math.max(0, each.getCollectionTime());
        }
        return millis;
    }
}
