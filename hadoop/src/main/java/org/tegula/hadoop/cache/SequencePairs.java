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
 * <p>A job that promises to change no pair leaves objects behind ({@link LivePairs}), and the next one is handed the same
 * objects: nothing is serialised between the two. The bytes of the file are made when someone opens it, and not before.
 * That nobody can tell the difference rests on these points:
 *
 * <ul>
 *   <li>The file's length is told to all who ask, clients and committers alike, and is the truth: {@link SequenceLayout}
 *       knows it from the sizes of pairs, which are measured anyway to keep within the memory's budget. So input splits are
 *       those that the file would have, and there is no case in which to ask for a length makes bytes.
 *   <li>A split, whole file or not, is served from the pairs: the layout also knows where marks would be, and so
 *       which records Hadoop's reader would give for it.
 *   <li>Only what is replayed exactly is kept so: files of {@code SequenceFileOutputFormat} itself, without compression (the
 *       length of compressed bytes is known once they are made), of Writables that go through Hadoop's own serialisation.
 *       What else a job writes into the folder is written as bytes, and kept as such.
 *   <li>The pairs are all that there is of the file, and are not dropped when room is short: the file is then written to
 *       the disk, or, while it is still being written, goes on as bytes.
 *   <li>An object that broke its job's promise may write another number of bytes than it did. Then the file cannot be
 *       what it was said to be, and is refused.
 * </ul>
 *
 * <p>Without the promise, objects may be changed once they were written. Then the file's bytes are written as ever, and are
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
    public final long length() {
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
    public final PairBlock find(long start, long bytes, Configuration conf) {
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
     * @throws IOException if it does, or if the objects are not what they were
     */
    public abstract void writeTo(OutputStream out) throws IOException;

    /** Gives their room back; open readers may go on. */
    public abstract void release();
}
