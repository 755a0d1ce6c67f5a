package org.tegula.hadoop.collect;

import java.util.Arrays;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;

/**
 * Numbers for keys, in the order in which they are first seen. A key is its serialised bytes with its partition, because a
 * partitioner may look at the value.
 *
 * <p>Places are found by linear probing; a place holds the hash beside the number, so that most keys that differ are told
 * apart at once. All other data of a key is in one place: its first sixteen bytes, which are mostly all, the place of its
 * waiting values, and the newest of them if it is short, with its count: that of a word count never waits anywhere else. So one
 * cache miss brings all data for one more pair, and the misses of a group of pairs overlap, as far as the processor looks
 * ahead.
 */
final class KeyTable {
    /** Where the key begins in the arena, and its length. */
    private static final int PLACE = 0;
    /** The partition, and the link of the newest value. */
    private static final int STATE = 1;

    private static final int HEAD = 2;
    private static final int NECK = 3;
    /** The newest value, its length, and how often it came; 0 if there is none here. */
    private static final int VALUE = 4;

    private static final int TIMES = 5;
    private static final int STRIDE = 6;
    private static final int INLINE_BYTES = 16;
    private static final int FIRST_SLOTS = 1 << 8;
    private static final int MOST_TIMES = Integer.MAX_VALUE;
    /** Longer values wait elsewhere. */
    static final int VALUE_BYTES = 8;
    /** The number of pairs that are looked up together. */
    static final int GROUP = 64;

    private final Arena keys = new Arena(1 << 11);
    private long[] fields = new long[STRIDE << 7];
    private int count;
    /** The hash above, the number plus one below; 0 is vacant. */
    private long[] slots = new long[FIRST_SLOTS];

    private final int[] hashes = new int[GROUP];
    private final long[] heads = new long[GROUP];
    private final long[] necks = new long[GROUP];
    private final long[] seen = new long[GROUP];
    /** Uses the prefetched data, so that the compiler does not remove the reads. */
    private long touched;

    /** Returns the bytes of keys. */
    Arena keys() {
        return keys;
    }

    int count() {
        return count;
    }

    int keyStart(int entry) {
        return high(fields[entry * STRIDE + PLACE]);
    }

    int keyLength(int entry) {
        return (int) fields[entry * STRIDE + PLACE];
    }

    int partition(int entry) {
        return high(fields[entry * STRIDE + STATE]);
    }

    /** The place of the key's newest value, or {@link ValueChains#NONE}. */
    int newest(int entry) {
        return (int) fields[entry * STRIDE + STATE];
    }

    void setNewest(int entry, int link) {
        int at = entry * STRIDE + STATE;
        fields[at] = pair(high(fields[at]), link);
    }

    /** All keys' newest values, by the numbers of the keys. */
    int[] newest() {
        int[] links = new int[count];
        for (int entry = 0; entry < count; entry++) {
            links[entry] = newest(entry);
        }
        return links;
    }

    /** Restores the links that {@link #newest()} returned; no key was added since. */
    void setNewest(int[] links) {
        for (int entry = 0; entry < links.length; entry++) {
            setNewest(entry, links[entry]);
        }
    }

    /** How often the short value came that is the key's newest; 0 if there is none. */
    int times(int entry) {
        return (int) fields[entry * STRIDE + TIMES];
    }

    /** Its bytes, the first one highest. */
    long value(int entry) {
        return fields[entry * STRIDE + VALUE];
    }

    int valueLength(int entry) {
        return high(fields[entry * STRIDE + TIMES]);
    }

    /** Takes a value that is the newest again; false if it is not. */
    boolean again(int entry, long value, int length) {
        int at = entry * STRIDE;
        long times = fields[at + TIMES];
        if (fields[at + VALUE] != value || high(times) != length || (int) times == 0 || (int) times == MOST_TIMES) {
            return false;
        }
        fields[at + TIMES] = times + 1;
        return true;
    }

    /** Keeps a value of at most eight bytes as the newest. */
    void setValue(int entry, long value, int length, int times) {
        fields[entry * STRIDE + VALUE] = value;
        fields[entry * STRIDE + TIMES] = pair(length, times);
    }

    private static long pair(int high, int low) {
        return (long) high << 32 | low & 0xFFFFFFFFL;
    }

    private static int high(long pair) {
        return (int) (pair >>> 32);
    }

    /** Returns the memory, with the room that short values need while they are combined. */
    long heldBytes() {
        return keys.length() + (8L * STRIDE + ValueChains.LEAST_BYTES) * count + 8L * slots.length;
    }

    /** The number of a key. */
    int entry(byte[] bytes, int start, int length, int partition) {
        long head = Ints.leading(bytes, start, length);
        long neck = Ints.leading(bytes, start + 8, length - 8);
        return entry(hash(bytes, start, length, head, neck, partition), bytes, start, length, head, neck, partition);
    }

    /** The numbers of the keys of a group of pairs. */
    void entries(PairBatch<?, ?> batch, int from, int count, int[] entries) {
        byte[] bytes = batch.bytes();
        for (int i = 0; i < count; i++) {
            int start = batch.keyStart(from + i);
            int length = batch.keyLength(from + i);
            heads[i] = Ints.leading(bytes, start, length);
            necks[i] = Ints.leading(bytes, start + 8, length - 8);
            hashes[i] = hash(bytes, start, length, heads[i], necks[i], batch.partition(from + i));
        }
        int mask = slots.length - 1;
        for (int i = 0; i < count; i++) {
            seen[i] = slots[hashes[i] & mask];
        }
        long sum = 0;
        for (int i = 0; i < count; i++) {
            int at = Math.max(0, (int) seen[i] - 1) * STRIDE;
            sum += fields[at] + fields[at + TIMES];
        }
        touched = sum;
        for (int i = 0; i < count; i++) {
            int start = batch.keyStart(from + i);
            int length = batch.keyLength(from + i);
            entries[i] = entry(hashes[i], bytes, start, length, heads[i], necks[i], batch.partition(from + i));
        }
    }

    private int entry(int hash, byte[] bytes, int start, int length, long head, long neck, int partition) {
        int mask = slots.length - 1;
        int at = hash & mask;
        for (long slot = slots[at]; slot != 0; slot = slots[at = at + 1 & mask]) {
            if (high(slot) == hash) {
                int entry = (int) slot - 1;
                if (isKey(entry, bytes, start, length, head, neck, partition)) {
                    return entry;
                }
            }
        }
        slots[at] = pair(hash, count + 1);
        int place = keys.length();
        keys.write(bytes, start, length);
        return add(place, length, head, neck, partition);
    }

    private static int hash(byte[] bytes, int start, int length, long head, long neck, int partition) {
        long hash = Ints.mix(Ints.mix(pair(partition, length), head), neck);
        for (int at = INLINE_BYTES; at < length; at += 8) {
            hash = Ints.mix(hash, Ints.leading(bytes, start + at, length - at));
        }
        return Ints.finish(hash);
    }

    private boolean isKey(int entry, byte[] bytes, int start, int length, long head, long neck, int partition) {
        int at = entry * STRIDE;
        return fields[at + HEAD] == head
                && fields[at + NECK] == neck
                && (int) fields[at + PLACE] == length
                && high(fields[at + STATE]) == partition
                && (length <= INLINE_BYTES || Ints.equal(keys.bytes(), keyStart(entry), bytes, start, length));
    }

    private int add(int start, int length, long head, long neck, int partition) {
        int at = count * STRIDE;
        if (at == fields.length) {
            fields = Arrays.copyOf(fields, 2 * fields.length);
        }
        fields[at + PLACE] = pair(start, length);
        fields[at + STATE] = pair(partition, ValueChains.NONE);
        fields[at + HEAD] = head;
        fields[at + NECK] = neck;
        fields[at + TIMES] = 0;
        count++;
        if (2 * count > slots.length) {
            grow();
        }
        return count - 1;
    }

    private void grow() {
        long[] old = slots;
        slots = new long[2 * old.length];
        int mask = slots.length - 1;
        for (long slot : old) {
            if (slot != 0) {
                int at = high(slot) & mask;
                while (slots[at] != 0) {
                    at = at + 1 & mask;
                }
                slots[at] = slot;
            }
        }
    }

    void clear() {
        keys.truncate(0);
        count = 0;
        Arrays.fill(slots, 0);
    }
}
