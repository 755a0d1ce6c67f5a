package org.tegula.hadoop.cache;

import java.io.DataInputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.memory.Chunks;

/**
 * All pairs of one part of a file, decoded: as the bytes that keys and values write of themselves. Whoever reads them
 * has objects of its own, of the classes that its job has under the names.
 */
public final class PairBlock {
    private final String keyType;
    private final String valueType;
    private final long pairs;
    private final Chunks bytes;

    PairBlock(String keyType, String valueType, long pairs, Chunks bytes) {
        this.keyType = keyType;
        this.valueType = valueType;
        this.pairs = pairs;
        this.bytes = bytes;
    }

    /**
     * How many pairs there are.
     *
     * @return their number
     */
    public long pairs() {
        return pairs;
    }

    long heldBytes() {
        return bytes.heldBytes();
    }

    void release() {
        bytes.release();
    }

    /** Whether a job has classes of the names that the block needs. */
    boolean isReadableWith(Configuration conf) {
        return isWritable(keyType, conf) && isWritable(valueType, conf);
    }

    private static boolean isWritable(String name, Configuration conf) {
        Class<?> type = conf.getClassByNameOrNull(name);
        return type != null && Writable.class.isAssignableFrom(type);
    }

    /**
     * A new object for keys.
     *
     * @param conf that knows the class
     * @return an empty key
     */
    public Writable newKey(Configuration conf) {
        return newWritable(keyType, conf);
    }

    /**
     * A new object for values.
     *
     * @param conf that knows the class
     * @return an empty value
     */
    public Writable newValue(Configuration conf) {
        return newWritable(valueType, conf);
    }

    private static Writable newWritable(String name, Configuration conf) {
        return (Writable) ReflectionUtils.newInstance(conf.getClassByNameOrNull(name), conf);
    }

    /**
     * Starts to read.
     *
     * @param conf that knows the classes
     * @return a cursor before the first pair
     */
    public BlockCursor open(Configuration conf) {
        DataInputStream in = new DataInputStream(bytes.reader());
        return new BlockCursor() {
            private long left = pairs;

            @Override
            public boolean next() {
                return left-- > 0;
            }

            @Override
            public Writable key(Writable into) throws IOException {
                return read(into == null ? newKey(conf) : into);
            }

            @Override
            public Writable value(Writable into) throws IOException {
                return read(into == null ? newValue(conf) : into);
            }

            private Writable read(Writable into) throws IOException {
                into.readFields(in);
                return into;
            }
        };
    }
}
