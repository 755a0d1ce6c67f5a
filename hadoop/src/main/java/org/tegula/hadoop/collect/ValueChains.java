package org.tegula.hadoop.collect;

import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.io.serializer.Serializer;
import org.tegula.hadoop.memory.Arena;

/**
 * The serialised values of many keys in one arena: those of a key are a chain, in the order in which they came. A link is
 * the place of the next, the length, the value.
 */
final class ValueChains<V> {
    static final int NONE = -1;
    private static final int HEADER_BYTES = 8;

    private final Arena arena = new Arena(1 << 16);
    private final Serializer<V> values;
    private int[] first = new int[1 << 10];
    private int[] last = new int[1 << 10];
    private int chains;

    ValueChains(PairTypes<?, V> types) throws IOException {
        values = types.valuesTo(arena);
    }

    /** Adds a value behind the others of its key; gives back how long it is. */
    int append(int chain, V value) throws IOException {
        int at = begin();
        values.serialize(value);
        return end(chain, at);
    }

    void append(int chain, byte[] bytes, int start, int length) {
        int at = begin();
        arena.write(bytes, start, length);
        end(chain, at);
    }

    private int begin() {
        int at = arena.skipInt();
        arena.skipInt();
        return at;
    }

    private int end(int chain, int at) {
        int length = arena.length() - at - HEADER_BYTES;
        arena.setInt(at, NONE);
        arena.setInt(at + 4, length);
        require(chain + 1);
        if (first[chain] == NONE) {
            first[chain] = at;
        } else {
            arena.setInt(last[chain], at);
        }
        last[chain] = at;
        return length;
    }

    /** Has empty chains up to a number. */
    void require(int count) {
        if (count <= chains) {
            return;
        }
        if (count > first.length) {
            int length = Math.max(count, 2 * first.length);
            first = Arrays.copyOf(first, length);
            last = Arrays.copyOf(last, length);
        }
        Arrays.fill(first, chains, count, NONE);
        chains = count;
    }

    int first(int chain) {
        return first[chain];
    }

    boolean isSingle(int chain) {
        return first[chain] == last[chain];
    }

    int next(int link) {
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
        chains = 0;
    }
}
