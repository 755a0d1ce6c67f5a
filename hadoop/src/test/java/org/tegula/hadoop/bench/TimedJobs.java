package org.tegula.hadoop.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import org.apache.hadoop.mapreduce.Job;
import org.tegula.hadoop.api.PlaceCounter;

/** Runs jobs one after the other and prints the time of each, as one object of JSON a line. */
final class TimedJobs {
    private static final double NANOS = 1e9;
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private TimedJobs() {}

    /** Fails if the job does; the time is that of the client, from submission to the end that it sees. */
    static void run(String step, int iteration, Job job) throws Exception {
        long wall = System.nanoTime();
        long processor = SYSTEM.getProcessCpuTime();
        if (!job.waitForCompletion(false)) {
            throw new IllegalStateException(
                    job.getJobName() + " failed: " + job.getStatus().getFailureInfo());
        }
        double wallSeconds = (System.nanoTime() - wall) / NANOS;
        double processorSeconds = (SYSTEM.getProcessCpuTime() - processor) / NANOS;
        System.out.println(String.format(
                Locale.ROOT,
                "{\"step\": \"%s\", \"iteration\": %d, \"wall_s\": %.4f, \"cpu_s\": %.4f%s}",
                step,
                iteration,
                wallSeconds,
                processorSeconds,
                places(job)));
    }

    /** What the pairs of a job did, if there are several places. */
    private static String places(Job job) throws java.io.IOException {
        StringBuilder text = new StringBuilder();
        for (PlaceCounter each : PlaceCounter.values()) {
            long value = job.getCounters().findCounter(each).getValue();
            if (value != 0) {
                text.append(", \"")
                        .append(each.name().toLowerCase(Locale.ROOT))
                        .append("\": ")
                        .append(value);
            }
        }
        return text.toString();
    }
}
