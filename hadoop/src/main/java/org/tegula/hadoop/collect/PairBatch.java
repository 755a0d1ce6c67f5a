package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.serializer.Serializer;
import org.tegula.hadoop.memory.Arena;

/**
 * Serialised pairs in the order in which they were emitted, few enough to stay in the processor's cache. They go into a
 * {@link KeyTable} together, which costs less than one by one, and may do so in another thread.
 */
final class PairBatch<K, V> {
    private static final int MOST_BYTES = 1 << 19;
    /** Small batches are no better if there is less memory than that. */
    private static final int LEAST_BYTES = 1 << 12;

    private static final int BYTES_PER_PAIR = 16;
    private static final int START = 0;
    private static final int MIDDLE = 1;
    private static final int END = 2;
    private static final int PARTITION = 3;
    private static final int STRIDE = 4;

    private final Arena arena = new Arena(1 << 11);
    private final Serializer<K> keys;
    private final Serializer<V> values;
    private int[] fields = new int[STRIDE << 6];
    private final int fullBytes;
    private int count;
    private long pairBytes;

    /**
     * @param bufferBytes the task's limit on collected bytes, of which a batch takes a small part
     */
    PairBatch(PairTypes<K, V> types, long bufferBytes) throws IOException {
        fullBytes = (int) Math.max(LEAST_BYTES, Math.min(MOST_BYTES, bufferBytes / 8));
        keys = types.keysTo(arena);
        values = types.valuesTo(arena);
    }

    void add(K key, V value, int partition) throws IOException {
        int start = arena.length();
        keys.serialize(key);
        int middle = arena.length();
        values.serialize(value);
        int at = count * STRIDE;
        if (at == fields.length) {
            fields = java.util.Arrays.copyOf(fields, 2 * at);
        }
        fields[at + START] = start;
        fields[at + MIDDLE] = middle;
        fields[at + END] = arena.length();
        fields[at + PARTITION] = partition;
        pairBytes += arena.length() - start;
        count++;
    }

    boolean isFull() {
        return arena.length() >= fullBytes || count * BYTES_PER_PAIR >= fullBytes;
    }

    void clear() {
        arena.truncate(0);
        count = 0;
        pairBytes = 0;
    }

    byte[] bytes() {
        return arena.bytes();
    }

    int count() {
        return count;
    }

    /** Of all keys and values. */
    long pairBytes() {
        return pairBytes;
    }

    int keyStart(int pair) {
        return fields[pair * STRIDE + START];
    }

    int keyLength(int pair) {
        return valueStart(pair) - keyStart(pair);
    }

    int valueStart(int pair) {
        return fields[pair * STRIDE + MIDDLE];
    }

    int valueLength(int pair) {
        return fields[pair * STRIDE + END] - valueStart(pair);
    }

    int partition(int pair) {
        return fields[pair * STRIDE + PARTITION];
    }
}
