package org.tegula.hadoop.cache;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.serializer.Serialization;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.WritableSerialization;
import org.tegula.hadoop.live.KnownSize;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.NoRoomException;
import org.tegula.hadoop.memory.Room;

/**
 * Takes the pairs that a task writes to a sequence file in memory: as objects, if its program promises not to change them,
 * or else as the file's bytes; also if there is no room for objects, or one of them cannot be measured. Threads may share it.
 */
public final class SequencePairsWriter {
    private final Target target;
    private final Types types;
    private final SequenceLayout layout;
    private LiveBlockWriter live;
    private SequenceBytes bytes;

    /** The file that is written. */
    public interface Target {
        /**
         * Where objects are accounted for.
         *
         * @return the room
         */
        Room room();

        /**
         * Makes room for more objects.
         *
         * @return false if there is none to be made
         * @throws IOException if dropped pairs cannot be written
         */
        boolean makeRoom() throws IOException;

        /**
         * Takes the file's bytes, in memory or on the disk.
         *
         * @return where they go
         * @throws IOException if the file cannot be begun
         */
        OutputStream bytes() throws IOException;

        /**
         * The bytes that were taken.
         *
         * @return null if they are on the disk
         * @throws IOException if they cannot be had
         */
        Chunks held() throws IOException;

        /**
         * Ends the file, as pairs.
         *
         * @param pairs null if they cannot be read from memory; the file disposes of them
         * @throws IOException if the file cannot be ended
         */
        void complete(SequencePairs pairs) throws IOException;
    }

    /**
     * The types of a task's pairs, and the way to write them.
     *
     * @param keyType the class of all keys
     * @param valueType the class of all values
     * @param promised whether nobody changes the objects any more
     * @param known the sizes of objects that the task was handed
     * @param home the slot where the pairs belong
     * @param conf of the task
     */
    public record Types(
            Class<?> keyType, Class<?> valueType, boolean promised, KnownSize known, int home, Configuration conf) {
        /**
         * Whether both are Writables that Hadoop has write themselves: how a program's own serialisation does is not known.
         *
         * @return false if the file must be written by Hadoop
         */
        public boolean areWritables() {
            SerializationFactory factory = new SerializationFactory(conf);
            return isWritable(keyType, factory) && isWritable(valueType, factory);
        }

        private static boolean isWritable(Class<?> type, SerializationFactory factory) {
            Serialization<?> serialization = factory.getSerialization(type);
            return serialization != null && serialization.getClass() == WritableSerialization.class;
        }

        /**
         * Whether the objects themselves may be kept.
         *
         * @return false if they may be changed, or are of classes that end with their job
         */
        public boolean mayStay() {
            return promised && !ClassOrigin.isOfJob(keyType) && !ClassOrigin.isOfJob(valueType);
        }
    }

    /**
     * A file without pairs.
     *
     * @param target the file
     * @param types {@link Types#areWritables}
     * @throws IOException if the file cannot be begun
     */
    public SequencePairsWriter(Target target, Types types) throws IOException {
        this.target = target;
        this.types = types;
        String keyName = types.keyType.getName();
        String valueName = types.valueType.getName();
        this.layout = new SequenceLayout(SequenceBytes.headerBytes(keyName, valueName));
        if (types.mayStay()) {
            live = new LiveBlockWriter(target.room(), types.known, null);
        } else {
            bytes = new SequenceBytes(keyName, valueName, target.bytes());
        }
    }

    /**
     * Takes a pair.
     *
     * @param key of the file's class
     * @param value of the file's class
     * @throws IOException if one is of another class, or does not write itself, or the disk does not take it
     */
    public synchronized void add(Object key, Object value) throws IOException {
        check("key", key, types.keyType);
        check("value", value, types.valueType);
        if (!addLive((Writable) key, (Writable) value)) {
            bytes.add((Writable) key, (Writable) value);
        }
    }

    /** The words are Hadoop's. */
    private static void check(String what, Object object, Class<?> type) throws IOException {
        if (object.getClass() != type) {
            throw new IOException(
                    "wrong " + what + " class: " + object.getClass().getName() + " is not " + type);
        }
    }

    private boolean addLive(Writable key, Writable value) throws IOException {
        while (live != null) {
            try {
                layout.add(live.writeLive(key, value));
                return true;
            } catch (NoRoomException e) {
                if (!target.makeRoom()) {
                    goOnAsBytes();
                }
            } catch (IOException | RuntimeException e) { // the file as bytes shows the fault, if there is one
                goOnAsBytes();
            }
        }
        return false;
    }

    private void goOnAsBytes() throws IOException {
        LiveBlockWriter left = live;
        live = null;
        try {
            bytes = new SequenceBytes(types.keyType.getName(), types.valueType.getName(), target.bytes());
            left.liveBlock(types.keyType, types.valueType).forEach(bytes::add);
        } finally {
            left.release();
        }
    }

    /**
     * Ends the file.
     *
     * @return how many bytes it has
     * @throws IOException if the disk does not take them
     */
    public synchronized long close() throws IOException {
        if (live != null) {
            LiveBlock all = live.liveBlock(types.keyType, types.valueType);
            target.complete(new LivePairs(all, layout, types.conf, types.home));
            return layout.length();
        }
        bytes.close();
        Chunks held = target.held();
        SequenceLayout written = bytes.layout();
        target.complete(
                held == null
                        ? null
                        : new BytePairs(types.keyType, types.valueType, held, written, types.conf, types.home));
        return written.length();
    }
}
