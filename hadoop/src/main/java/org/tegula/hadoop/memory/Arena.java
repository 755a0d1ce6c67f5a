package org.tegula.hadoop.memory;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/**
 * Bytes that grow at the end, into which serializers write.
 *
 * <p>It is a {@link DataOutputStream} because Hadoop's serializers would wrap anything else, and it takes over the
 * methods that take a lock there. One thread writes.
 */
public final class Arena extends DataOutputStream {
    /** The largest array that every JVM gives. */
    private static final int LARGEST = Integer.MAX_VALUE - 8;

    private final Bytes store;

    /**
     * An empty arena.
     *
     * @param capacity bytes that are there from the start
     */
    public Arena(int capacity) {
        this(new Bytes(capacity));
    }

    private Arena(Bytes store) {
        super(store);
        this.store = store;
    }

    /**
     * Returns the written bytes: valid up to {@link #length()} and until the next write.
     *
     * @return the array itself
     */
    public byte[] bytes() {
        return store.bytes;
    }

    /**
     * How much was written.
     *
     * @return bytes
     */
    public int length() {
        return store.length;
    }

    /**
     * Drops the bytes from a place on.
     *
     * @param length that remains
     */
    public void truncate(int length) {
        store.length = length;
    }

    /**
     * Leaves room that is filled in later.
     *
     * @param bytes how much
     * @return its place
     */
    public int skip(int bytes) {
        store.ensure(bytes);
        int at = store.length;
        store.length += bytes;
        return at;
    }

    /**
     * Writes an integer over four bytes that are there.
     *
     * @param at its place
     * @param value the integer
     */
    public void setInt(int at, int value) {
        Ints.put(store.bytes, at, value);
    }

    /**
     * Reads an integer written by {@link #setInt}.
     *
     * @param at its place
     * @return the integer
     */
    public int getInt(int at) {
        return Ints.get(store.bytes, at);
    }

    /**
     * Writes an integer as Hadoop's {@code WritableUtils.writeVInt} does.
     *
     * @param value the integer
     */
    public void putVInt(int value) {
        if (value >= -112 && value <= 127) {
            store.write(value);
            return;
        }
        int bits = value < 0 ? ~value : value;
        int more = (Integer.SIZE + 7 - Integer.numberOfLeadingZeros(bits)) / 8;
        store.write((value < 0 ? -120 : -112) - more);
        for (int shift = 8 * (more - 1); shift >= 0; shift -= 8) {
            store.write(bits >> shift);
        }
    }

    @Override
    public void write(int b) {
        store.write(b);
    }

    @Override
    public void write(byte[] source, int offset, int length) {
        store.write(source, offset, length);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}

    private static final class Bytes extends OutputStream {
        private byte[] bytes;
        private int length;

        Bytes(int capacity) {
            bytes = new byte[capacity];
        }

        private void ensure(int more) {
            if (bytes.length - length < more) {
                long needed = (long) length + more;
                if (needed > LARGEST) {
                    throw new OutOfMemoryError("a record with its neighbours needs " + needed
                            + " bytes, more than one array holds; lower mapreduce.task.io.sort.mb");
                }
                bytes = Arrays.copyOf(bytes, (int) Math.min(LARGEST, Math.max(needed, 2L * bytes.length)));
            }
        }

        @Override
        public void write(int b) {
            ensure(1);
            bytes[length++] = (byte) b;
        }

        @Override
        public void write(byte[] source, int offset, int count) {
            ensure(count);
            System.arraycopy(source, offset, bytes, length, count);
            length += count;
        }

        @Override
        public void flush() throws IOException {}
    }
}
