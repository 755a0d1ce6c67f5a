package org.tegula.hadoop.job;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** The output of a job that only later jobs want: it is kept in memory alone. */
final class TemporaryOutput {
    private TemporaryOutput() {}

    /** Keeps the job's output in memory if its name or the job says so, and all who look for it would find it there. */
    static void hold(JobConf conf) throws IOException {
        Path output = FileOutputFormat.getOutputPath(conf);
        if (output == null) {
            return;
        }
        FileSystem files = output.getFileSystem(conf);
        if (files instanceof CachedLocalFileSystem local && isTemporary(files.makeQualified(output), files, conf)) {
            local.hold(files.makeQualified(output));
        }
    }

    private static boolean isTemporary(Path output, FileSystem files, JobConf conf) {
        String prefix = conf.get(Settings.TEMPORARY_PREFIX, Settings.TEMPORARY_PREFIX_DEFAULT);
        if (!prefix.equals(Settings.TEMPORARY_PREFIX_NONE) && output.getName().startsWith(prefix)) {
            return true;
        }
        for (String each : conf.getTrimmedStrings(Settings.TEMPORARY_PATHS)) {
            if (files.makeQualified(new Path(each)).equals(output)) {
                return true;
            }
        }
        return false;
    }
}
