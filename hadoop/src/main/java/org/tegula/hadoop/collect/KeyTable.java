package org.tegula.hadoop.collect;

import java.util.Arrays;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;

/**
 * Numbers for keys, in the order in which they are first seen. A key is its serialised bytes with its partition, for a
 * partitioner may look at the value. Places are found by linear probing; a place holds the hash beside the number, so
 * that most keys that differ are told apart without a look at their bytes. All else that is known of a key, its newest
 * waiting value too, is in one stretch, so that one miss of the cache brings it.
 */
final class KeyTable {
    private static final int START = 0;
    private static final int LENGTH = 1;
    private static final int PARTITION = 2;
    private static final int NEWEST = 3;
    private static final int STRIDE = 4;
    private static final int FIRST_SLOTS = 1 << 12;

    private final Arena keys = new Arena(1 << 16);
    private int[] fields = new int[STRIDE << 10];
    private int count;
    /** The hash above, the number plus one below; 0 is vacant. */
    private long[] slots = new long[FIRST_SLOTS];

    /** Where keys stand; one that is to be looked up is written to the end. */
    Arena keys() {
        return keys;
    }

    int count() {
        return count;
    }

    int keyStart(int entry) {
        return fields[entry * STRIDE + START];
    }

    int keyLength(int entry) {
        return fields[entry * STRIDE + LENGTH];
    }

    int partition(int entry) {
        return fields[entry * STRIDE + PARTITION];
    }

    /** The place of the key's newest value, or {@link ValueChains#NONE}. */
    int newest(int entry) {
        return fields[entry * STRIDE + NEWEST];
    }

    void setNewest(int entry, int link) {
        fields[entry * STRIDE + NEWEST] = link;
    }

    long heldBytes() {
        return keys.length() + 4L * STRIDE * count + 8L * slots.length;
    }

    /** The number of a key that stands elsewhere. */
    int entry(byte[] bytes, int start, int length, int partition) {
        int at = keys.length();
        keys.write(bytes, start, length);
        return entry(at, partition);
    }

    /** The number of the key that was written to the end; its bytes stay only if it is new. */
    int entry(int start, int partition) {
        byte[] bytes = keys.bytes();
        int length = keys.length() - start;
        int hash = Ints.hash(bytes, start, start + length, partition);
        int mask = slots.length - 1;
        int at = hash & mask;
        for (long slot = slots[at]; slot != 0; slot = slots[at = at + 1 & mask]) {
            if ((int) (slot >>> 32) == hash) {
                int entry = (int) slot - 1;
                if (isKey(entry, bytes, start, length, partition)) {
                    keys.truncate(start);
                    return entry;
                }
            }
        }
        slots[at] = (long) hash << 32 | count + 1;
        return add(start, length, partition);
    }

    private boolean isKey(int entry, byte[] bytes, int start, int length, int partition) {
        int field = entry * STRIDE;
        return fields[field + LENGTH] == length
                && fields[field + PARTITION] == partition
                && Ints.equal(bytes, fields[field + START], bytes, start, length);
    }

    private int add(int start, int length, int partition) {
        int field = count * STRIDE;
        if (field + STRIDE > fields.length) {
            fields = Ints.doubled(fields);
        }
        fields[field + START] = start;
        fields[field + LENGTH] = length;
        fields[field + PARTITION] = partition;
        fields[field + NEWEST] = ValueChains.NONE;
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
                int at = (int) (slot >>> 32) & mask;
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
