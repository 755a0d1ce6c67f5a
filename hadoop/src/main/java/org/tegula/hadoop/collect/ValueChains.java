package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.serializer.Serializer;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;

/**
 * The serialised values of many keys in one arena. The values of a key are a chain, whose newest link the caller keeps. A link
 * is the place of the one before, the length of the value, its count, and the value: a value that comes again at once, as the
 * ones of a word count do, takes no room.
 */
final class ValueChains<V> {
    static final int NONE = -1;
    private static final int LENGTH = 4;
    private static final int TIMES = 8;
    private static final int HEADER_BYTES = 12;
    /** Of a short value. */
    static final int LEAST_BYTES = HEADER_BYTES + 8;

    private final Arena arena = new Arena(1 << 11);
    private final Serializer<V> values;

    ValueChains(PairTypes<?, V> types) throws IOException {
        values = types.valuesTo(arena);
    }

    /** Adds a value to a chain; gives back the link that is the newest now. */
    int append(int newest, V value) throws IOException {
        int at = begin();
        values.serialize(value);
        return end(at, newest, 1);
    }

    /** Adds a value some times. */
    int append(int newest, byte[] bytes, int start, int length, int times) {
        int at = begin();
        arena.write(bytes, start, length);
        return end(at, newest, times);
    }

    /** Adds a value of at most eight bytes a number of times; its first byte is the number's highest. */
    int append(int newest, long value, int length, int times) {
        int at = begin();
        for (int i = 0; i < length; i++) {
            arena.write((int) (value >>> 56 - 8 * i));
        }
        return end(at, newest, times);
    }

    private int begin() {
        return arena.skip(HEADER_BYTES);
    }

    private int end(int at, int newest, int times) {
        int length = arena.length() - at - HEADER_BYTES;
        if (newest != NONE && isValue(newest, at, length) && times <= Integer.MAX_VALUE - times(newest)) {
            arena.setInt(newest + TIMES, times(newest) + times);
            arena.truncate(at);
            return newest;
        }
        arena.setInt(at, newest);
        arena.setInt(at + LENGTH, length);
        arena.setInt(at + TIMES, times);
        return at;
    }

    private boolean isValue(int link, int at, int length) {
        byte[] bytes = arena.bytes();
        return valueLength(link) == length && Ints.equal(bytes, valueStart(link), bytes, valueStart(at), length);
    }

    int before(int link) {
        return arena.getInt(link);
    }

    int valueStart(int link) {
        return link + HEADER_BYTES;
    }

    int valueLength(int link) {
        return arena.getInt(link + LENGTH);
    }

    int times(int link) {
        return arena.getInt(link + TIMES);
    }

    byte[] bytes() {
        return arena.bytes();
    }

    int length() {
        return arena.length();
    }

    void clear() {
        arena.truncate(0);
    }
}
