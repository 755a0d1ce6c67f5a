package org.tegula.hadoop.run;

import java.io.Closeable;
import java.io.IOException;
import org.tegula.hadoop.memory.Ints;

/**
 * A place in one partition of a run. Key and value are views that the next step may overwrite. The value of a large record is
 * brought into memory only by {@link #load}: a merge of many runs needs the keys of all, and the value of one.
 */
public abstract class RunCursor implements Closeable {
    byte[] bytes;
    int keyStart;
    int keyLength;
    int valueLength;
    /** Orders as the key does where two differ; see {@link KeyPrefix}. */
    long prefix;

    /** For cursors that know the places of records. */
    protected RunCursor() {}

    /**
     * Goes to the next record.
     *
     * @return false if there is none
     * @throws IOException if the file cannot be read or was damaged
     */
    public abstract boolean next() throws IOException;

    /**
     * Brings the value of the present record into memory. Until then, only the key may be looked at.
     *
     * @throws IOException if the file cannot be read or was damaged
     */
    public void load() throws IOException {}

    /**
     * Returns the array that holds key and value, one after the other.
     *
     * @return the array itself
     */
    public final byte[] bytes() {
        return bytes;
    }

    /**
     * Where the key begins.
     *
     * @return its place in {@link #bytes()}
     */
    public final int keyStart() {
        return keyStart;
    }

    /**
     * How long the key is.
     *
     * @return bytes
     */
    public final int keyLength() {
        return keyLength;
    }

    /**
     * Where the value begins.
     *
     * @return its place in {@link #bytes()}
     */
    public final int valueStart() {
        return keyStart + keyLength;
    }

    /**
     * How long the value is.
     *
     * @return bytes
     */
    public final int valueLength() {
        return valueLength;
    }

    @Override
    public void close() throws IOException {}

    /** The length of Hadoop's variable-length integer that begins at a place, and its value, without a stream. */
    static int vintAt(byte[] bytes, int at) {
        byte first = bytes[at];
        if (first >= -112) {
            return first;
        }
        int size = org.apache.hadoop.io.WritableUtils.decodeVIntSize(first);
        if (size == 5) {
            return Ints.get(bytes, at + 1);
        }
        int value = 0;
        for (int i = 1; i < size; i++) {
            value = value << 8 | bytes[at + i] & 0xFF;
        }
        return value;
    }
}
