package org.tegula.hadoop.task;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.FileSystemCounter;

/** The counters of file systems, from the traffic of the attempt's thread between two moments. */
final class FileSystemCounts {
    private final Map<String, long[]> before = now();

    void addTo(Counters counters) {
        now().forEach((scheme, after) -> {
            long[] start = before.getOrDefault(scheme, new long[after.length]);
            add(counters, scheme, FileSystemCounter.BYTES_READ, after[0] - start[0]);
            add(counters, scheme, FileSystemCounter.BYTES_WRITTEN, after[1] - start[1]);
            add(counters, scheme, FileSystemCounter.READ_OPS, after[2] - start[2]);
            add(counters, scheme, FileSystemCounter.LARGE_READ_OPS, after[3] - start[3]);
            add(counters, scheme, FileSystemCounter.WRITE_OPS, after[4] - start[4]);
        });
    }

    private static void add(Counters counters, String scheme, FileSystemCounter counter, long amount) {
        ContextLoader.of(FileSystemCounter.class, () -> counters.findCounter(scheme, counter))
                .increment(amount);
    }

    @SuppressWarnings("deprecation") // the only statistics that are kept by thread
    private static Map<String, long[]> now() {
        Map<String, long[]> counts = new HashMap<>();
        for (FileSystem.Statistics each : FileSystem.getAllStatistics()) {
            FileSystem.Statistics.StatisticsData data = each.getThreadStatistics();
            long[] sums = counts.computeIfAbsent(each.getScheme(), scheme -> new long[5]);
            sums[0] += data.getBytesRead();
            sums[1] += data.getBytesWritten();
            sums[2] += data.getReadOps();
            sums[3] += data.getLargeReadOps();
            sums[4] += data.getWriteOps();
        }
        return counts;
    }
}
