package org.tegula.hadoop.task;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** How many bytes the calling thread has read and written so far on the file system of a path. */
final class TrafficMeter {
    /** Counts nothing. */
    static final TrafficMeter NONE = new TrafficMeter(List.of());

    private final List<FileSystem.Statistics> statistics;

    private TrafficMeter(List<FileSystem.Statistics> statistics) {
        this.statistics = statistics;
    }

    @SuppressWarnings("deprecation") // the only statistics that are kept by thread
    static TrafficMeter of(Path path, Configuration conf) throws IOException {
        if (path == null) {
            return NONE;
        }
        String scheme = path.getFileSystem(conf).makeQualified(path).toUri().getScheme();
        List<FileSystem.Statistics> matching = new ArrayList<>();
        for (FileSystem.Statistics statistics : FileSystem.getAllStatistics()) {
            if (statistics.getScheme().equals(scheme)) {
                matching.add(statistics);
            }
        }
        return new TrafficMeter(matching);
    }

    long bytesRead() {
        long bytes = 0;
        for (FileSystem.Statistics each : statistics) {
            bytes += each.getThreadStatistics().getBytesRead();
        }
        return bytes;
    }

    long bytesWritten() {
        long bytes = 0;
        for (FileSystem.Statistics each : statistics) {
            bytes += each.getThreadStatistics().getBytesWritten();
        }
        return bytes;
    }
}
