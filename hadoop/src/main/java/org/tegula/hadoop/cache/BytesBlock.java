package org.tegula.hadoop.cache;

import java.io.DataInputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.memory.Chunks;

/**
 * Pairs as the bytes that keys and values write of themselves. Each reader has objects of its own, of its job's classes of
 * these names.
 */
final class BytesBlock extends PairBlock {
    private final Chunks bytes;

    BytesBlock(Class<?> keyType, Class<?> valueType, long pairs, Chunks bytes) {
        super(keyType, valueType, pairs);
        this.bytes = bytes;
    }

    @Override
    long heldBytes() {
        return bytes.length();
    }

    @Override
    void release() {
        bytes.release();
    }

    @Override
    boolean fits(Class<?> keys, Class<?> values) {
        return isWritable(keys) && isWritable(values);
    }

    private static boolean isWritable(Class<?> type) {
        return Writable.class.isAssignableFrom(type);
    }

    @Override
    public BlockCursor open(Configuration conf) {
        DataInputStream in = new DataInputStream(bytes.reader());
        return new BlockCursor() {
            private long left = pairs();

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
