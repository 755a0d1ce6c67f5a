package org.tegula.hadoop.cache;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A sequence file that is in memory alone, as its pairs.
 *
 * <p>A job that promises to change no pair leaves its objects ({@link LivePairs}), and the next one is handed the same objects:
 * nothing is serialised between the two. The bytes of the file are made only when a reader opens it. These points make this
 * invisible to programs:
 *
 * <ul>
 *   <li>The file's length is reported to all clients and committers, and is the truth: {@link SequenceLayout} knows it from the
 *       sizes of pairs, which are measured anyway to keep within the memory's budget. So input splits are those of the real
 *       file, and asking for a length never makes bytes.
 *   <li>A split, whole file or not, is served from the pairs: the layout also knows where marks would be, and so
 *       which records Hadoop's reader would give for it.
 *   <li>Only files that can be reproduced exactly are kept so: files of {@code SequenceFileOutputFormat} itself, without
 *       compression (the length of compressed bytes is known only once they are made), of Writables that go through Hadoop's
 *       own serialisation. Other files in the folder are written as bytes, and kept as such.
 *   <li>The pairs are all that there is of the file, and are not dropped when room is short: the file is then written to the
 *       disk, or, while it is still being written, continued as bytes.
 *   <li>An object that broke its job's promise may write another number of bytes than before. Then the file would contradict
 *       its reported length, and is refused.
 * </ul>
 *
 * <p>Without the promise, objects may be changed after they were written. Then the file's bytes are written as usual, and are
 * read as pairs in place ({@link BytePairs}).
 */
public abstract class SequencePairs {
    final SequenceLayout layout;
    private final String serializations;
    private final int home;

    SequencePairs(SequenceLayout layout, Configuration conf, int home) {
        this.layout = layout;
        this.serializations = conf.get(CommonConfigurationKeys.IO_SERIALIZATIONS_KEY);
        this.home = home;
    }

    /** The pairs of a file, or null if they are not all that there is of it. */
    static SequencePairs of(FileSystem files, Path path) throws IOException {
        FileSystem raw = files instanceof LocalFileSystem checked ? checked.getRaw() : files;
        return raw instanceof Versioned versioned ? versioned.pairs(path) : null;
    }

    /**
     * How many bytes the file has, made or not.
     *
     * @return its length
     */
    public long length() {
        return layout.length();
    }

    /** The slot where they were made. */
    final int home() {
        return home;
    }

    /**
     * The pairs of a split.
     *
     * @param start of the split, in bytes of the file
     * @param bytes of the split
     * @param conf of the job that wants them
     * @return null if the job would decode the file in another way, or has other classes
     */
    public PairBlock find(long start, long bytes, Configuration conf) {
        return Objects.equals(serializations, conf.get(CommonConfigurationKeys.IO_SERIALIZATIONS_KEY))
                        && all().isReadableWith(conf)
                ? part(layout.part(start, bytes))
                : null;
    }

    abstract PairBlock all();

    abstract PairBlock part(SequenceLayout.Part part);

    /**
     * Writes the file's bytes.
     *
     * @param out takes them, and is left open
     * @throws IOException if it does, or if the objects have changed
     */
    public abstract void writeTo(OutputStream out) throws IOException;

    /** Gives their room back; open readers may go on. */
    public abstract void release();
}
