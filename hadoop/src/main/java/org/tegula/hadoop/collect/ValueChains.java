package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.serializer.Serializer;
import org.tegula.hadoop.memory.Arena;

/**
 * The serialised values of many keys in one arena: those of a key are a chain, of which whoever appends keeps the newest
 * link. A link is the place of the one before, the length, the value.
 */
final class ValueChains<V> {
    static final int NONE = -1;
    private static final int HEADER_BYTES = 8;

    private final Arena arena = new Arena(1 << 16);
    private final Serializer<V> values;

    ValueChains(PairTypes<?, V> types) throws IOException {
        values = types.valuesTo(arena);
    }

    /** Adds a value to a chain; gives back its link, which is the newest now. */
    int append(int newest, V value) throws IOException {
        int at = begin(newest);
        values.serialize(value);
        return end(at);
    }

    int append(int newest, byte[] bytes, int start, int length) {
        int at = begin(newest);
        arena.write(bytes, start, length);
        return end(at);
    }

    private int begin(int newest) {
        int at = arena.skip(HEADER_BYTES);
        arena.setInt(at, newest);
        return at;
    }

    private int end(int at) {
        arena.setInt(at + 4, arena.length() - at - HEADER_BYTES);
        return at;
    }

    int before(int link) {
        return arena.getInt(link);
    }

    int valueStart(int link) {
        return link + HEADER_BYTES;
    }

    int valueLength(int link) {
        return arena.getInt(link + 4);
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
