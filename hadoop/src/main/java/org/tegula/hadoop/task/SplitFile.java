package org.tegula.hadoop.task;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.split.JobSplit;

/** The file in which the client has written the input splits of all map tasks. A small one is read once. */
public final class SplitFile {
    private static final int SMALL_BYTES = 1 << 24;

    private final Path file;
    private byte[] all;

    /**
     * A file that is not read yet.
     *
     * @param file where it is
     */
    public SplitFile(Path file) {
        this.file = file;
    }

    /**
     * A file whose contents are known.
     *
     * @param file where it is
     * @param all of its bytes; null if they are still to be read
     */
    public SplitFile(Path file, byte[] all) {
        this.file = file;
        this.all = all;
    }

    /** The file from a place on, and how far it was read. */
    private record Source(DataInputStream in, LongSupplier position) {}

    private Source open(long from, Configuration conf) throws IOException {
        byte[] bytes = contents(conf);
        if (from < 0 || bytes != null && from > bytes.length) {
            throw new EOFException(file + " has no split at byte " + from + ": it was damaged after it was written");
        }
        if (bytes != null) {
            DataInputBuffer in = new DataInputBuffer();
            in.reset(bytes, (int) from, bytes.length - (int) from);
            return new Source(in, in::getPosition);
        }
        FSDataInputStream in = file.getFileSystem(conf).open(file);
        in.seek(from);
        return new Source(in, () -> position(in));
    }

    private static <T> T read(DataInputStream in, Class<T> type, JobConf conf) throws IOException {
        try {
            Deserializer<T> deserializer = new SerializationFactory(conf).getDeserializer(type);
            deserializer.open(in);
            return deserializer.deserialize(null);
        } catch (RuntimeException e) { // of a class that is no split, or cannot read this one
            throw new IOException("A split of " + type.getName() + " cannot be read", e);
        }
    }

    private static long position(FSDataInputStream in) {
        try {
            return in.getPos();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The contents of the file, for JVMs that would read them again.
     *
     * @param conf of the job
     * @return null if they are too many bytes to have in memory
     * @throws IOException if they cannot be read
     */
    public synchronized byte[] contents(Configuration conf) throws IOException {
        if (all == null) {
            FileSystem files = file.getFileSystem(conf);
            long length = files.getFileStatus(file).getLen();
            if (length > SMALL_BYTES) {
                return null;
            }
            try (FSDataInputStream in = files.open(file)) {
                byte[] bytes = new byte[(int) length];
                in.readFully(bytes);
                all = bytes;
            }
        }
        return all;
    }

    /**
     * The name of the class of a split.
     *
     * @param place where the split is written
     * @param conf of the job
     * @return the class's name
     * @throws IOException if it cannot be read
     */
    public String className(JobSplit.TaskSplitIndex place, Configuration conf) throws IOException {
        try (DataInputStream in = open(place.getStartOffset(), conf).in) {
            return Text.readString(in);
        }
    }

    /**
     * Reads a split.
     *
     * @param place where it is written
     * @param conf of the task, with its classes
     * @param length takes how many bytes it has there
     * @param <T> the kind of split, of either interface
     * @return an object of its own
     * @throws IOException if it cannot be read
     */
    @SuppressWarnings("unchecked")
    public <T> T read(JobSplit.TaskSplitIndex place, JobConf conf, LongConsumer length) throws IOException {
        Source source = open(place.getStartOffset(), conf);
        try (DataInputStream in = source.in) {
            String name = Text.readString(in);
            Class<T> type;
            try {
                type = (Class<T>) conf.getClassByName(name);
            } catch (ClassNotFoundException e) {
                throw new IOException("Split class " + name + " not found", e);
            }
            T split = read(in, type, conf);
            length.accept(source.position.getAsLong() - place.getStartOffset());
            return split;
        }
    }
}
