package org.tegula.hadoop.cache;

import java.io.IOException;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.security.UserGroupInformation;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.api.DelegatingSplit;
import org.tegula.hadoop.api.NamedSplit;

/**
 * Where the pairs of a split come from, if they may be kept: they must depend on a file and on settings alone.
 *
 * @param key names them
 * @param files where the file is; null for data that a program has named
 * @param path of the file; null for data that a program has named
 */
record SplitSource(BlockKey key, FileSystem files, Path path) {
    /** Both interfaces decode sequence files alike. */
    static final String SEQUENCE_FILES = SequenceFileInputFormat.class.getName();

    /** Whose readers are known to look at nothing else. Those of sequence files as text call the pairs' own classes. */
    private static final Set<String> FORMATS = Set.of(
            SEQUENCE_FILES,
            "org.apache.hadoop.mapreduce.lib.input.TextInputFormat",
            "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat",
            "org.apache.hadoop.mapreduce.lib.input.NLineInputFormat",
            "org.apache.hadoop.mapreduce.lib.input.FixedLengthInputFormat",
            "org.apache.hadoop.mapreduce.lib.input.SequenceFileAsBinaryInputFormat",
            "org.apache.hadoop.mapred.TextInputFormat",
            "org.apache.hadoop.mapred.KeyValueTextInputFormat",
            "org.apache.hadoop.mapred.lib.NLineInputFormat",
            "org.apache.hadoop.mapred.FixedLengthInputFormat",
            "org.apache.hadoop.mapred.SequenceFileAsBinaryInputFormat");

    /** Whether a format is one of Hadoop's own for files of text, bytes or pairs. */
    static boolean isOfHadoop(Class<?> format) {
        return FORMATS.contains(formatName(format));
    }

    private static final FileVersion NAMED = new FileVersion(0, 0, "", 0);

    /** Null if the pairs are not to be kept. */
    static SplitSource of(InputPart part, JobConf conf) throws IOException {
        Object split = part.split() instanceof DelegatingSplit<?> wrapper ? wrapper.getDelegate() : part.split();
        if (split instanceof NamedSplit named) {
            return new SplitSource(key(named.getName(), 0, 0, identity(part.format())), null, null);
        }
        if (!isOfHadoop(part.format())
                && !conf.getStringCollection(Settings.CACHE_FORMATS)
                        .contains(part.format().getName())) {
            return null;
        }
        if (split.getClass() == FileSplit.class) {
            FileSplit file = (FileSplit) split;
            return of(file.getPath(), file.getStart(), file.getLength(), identity(part.format()), conf);
        }
        if (split.getClass() == org.apache.hadoop.mapreduce.lib.input.FileSplit.class) {
            org.apache.hadoop.mapreduce.lib.input.FileSplit file =
                    (org.apache.hadoop.mapreduce.lib.input.FileSplit) split;
            return of(file.getPath(), file.getStart(), file.getLength(), identity(part.format()), conf);
        }
        return null;
    }

    static SplitSource of(Path path, long start, long length, String format, JobConf conf) throws IOException {
        FileSystem files = path.getFileSystem(conf);
        return new SplitSource(key(files.makeQualified(path).toString(), start, length, format), files, path);
    }

    /** Returns the pairs of a file that consists of them; null if the cache may have them. */
    PairBlock held(JobConf conf) throws IOException {
        SequencePairs pairs = heldFile();
        return pairs == null ? null : pairs.find(key.start(), key.length(), conf);
    }

    private SequencePairs heldFile() throws IOException {
        return path == null || !key.format().equals(SEQUENCE_FILES) ? null : SequencePairs.of(files, path);
    }

    /** The slot where the pairs are; {@link PairCache#NO_HOME} if they are not there. */
    int home(PairCache cache) throws IOException {
        SequencePairs pairs = heldFile();
        return pairs == null ? cache.home(key) : pairs.home();
    }

    private static BlockKey key(String name, long start, long length, String format) throws IOException {
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        return new BlockKey(user, name, start, length, format);
    }

    private static String formatName(Class<?> format) {
        return format == org.apache.hadoop.mapred.SequenceFileInputFormat.class ? SEQUENCE_FILES : format.getName();
    }

    /** The name of a format, and of its code if it is a program's own. */
    private static String identity(Class<?> format) {
        String origin = ClassOrigin.of(format);
        return origin.isEmpty() ? formatName(format) : formatName(format) + " of " + origin;
    }

    /** The version of the data now, or null if it is changing. */
    FileVersion version() throws IOException, InterruptedException {
        return path == null ? NAMED : FileVersion.settled(files, path);
    }
}
