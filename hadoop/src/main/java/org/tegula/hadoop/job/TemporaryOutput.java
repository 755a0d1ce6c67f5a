package org.tegula.hadoop.job;

import java.io.IOException;
import java.util.Optional;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.files.PairFiles;

/** The output of a job that only later jobs want: it is kept in memory alone. */
final class TemporaryOutput {
    private TemporaryOutput() {}

    /**
     * Keeps the job's output in memory if its name or the job says so, and all who look for it would find it there.
     *
     * @param isOfPlaces whether tasks run in other JVMs
     * @return a note for the user; empty if the output goes to the disk
     */
    static Optional<String> hold(JobConf conf, boolean isOfPlaces) throws IOException {
        Path output = FileOutputFormat.getOutputPath(conf);
        if (output == null) {
            return Optional.empty();
        }
        FileSystem files = output.getFileSystem(conf);
        Path whole = files.makeQualified(output);
        if (files instanceof PairFiles pairs && isTemporary(whole, files, conf) && pairs.hold(whole)) {
            return Optional.of(note(whole, isOfPlaces, conf));
        }
        return Optional.empty();
    }

    private static String note(Path output, boolean isOfPlaces, JobConf conf) {
        long seconds = conf.getLong(Settings.TEMPORARY_SECONDS, Settings.TEMPORARY_SECONDS_DEFAULT);
        String later = seconds == 0 ? "" : seconds + " seconds after its last use, or ";
        return output + " is in the memory of the engine alone: it is written to its file system " + later
                + "when the engine's JVM ends, and lost if that JVM" + (isOfPlaces ? " or a place of it" : "")
                + " is killed before (" + Settings.TEMPORARY_PREFIX + ")";
    }

    /** A longer word that begins as the prefix does is another name. */
    private static boolean begins(String name, String prefix) {
        return name.startsWith(prefix)
                && (name.length() == prefix.length()
                        || !Character.isLetterOrDigit(name.charAt(prefix.length()))
                        || !Character.isLetterOrDigit(prefix.charAt(prefix.length() - 1)));
    }

    private static boolean isTemporary(Path output, FileSystem files, JobConf conf) {
        String prefix = conf.get(Settings.TEMPORARY_PREFIX, Settings.TEMPORARY_PREFIX_DEFAULT);
        if (!prefix.equals(Settings.TEMPORARY_PREFIX_NONE) && begins(output.getName(), prefix)) {
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
