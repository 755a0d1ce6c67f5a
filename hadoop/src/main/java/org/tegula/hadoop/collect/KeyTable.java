package org.tegula.hadoop.collect;

import java.util.Arrays;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;

/**
 * Numbers for keys, in the order in which they are first seen. A key is its serialised bytes with its partition, for a
 * partitioner may look at the value.
 *
 * <p>Places are found by linear probing; a place holds the hash beside the number, so that most keys that differ are told
 * apart at once. All else that is known of a key is in one stretch: its first sixteen bytes, which are mostly all, and
 * its newest waiting value. So one miss of the cache brings what one more pair of it needs.
 */
final class KeyTable {
    /** Where the key begins in the arena, and its length. */
    private static final int PLACE = 0;
    /** The partition, and the link of the newest value. */
    private static final int STATE = 1;

    private static final int HEAD = 2;
    private static final int NECK = 3;
    private static final int STRIDE = 4;
    private static final int INLINE_BYTES = 16;
    private static final int FIRST_SLOTS = 1 << 8;

    private final Arena keys = new Arena(1 << 11);
    private long[] fields = new long[STRIDE << 7];
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

    /** Puts back what {@link #newest()} gave; no key was added since. */
    void setNewest(int[] links) {
        for (int entry = 0; entry < links.length; entry++) {
            setNewest(entry, links[entry]);
        }
    }

    private static long pair(int high, int low) {
        return (long) high << 32 | low & 0xFFFFFFFFL;
    }

    private static int high(long pair) {
        return (int) (pair >>> 32);
    }

    long heldBytes() {
        return keys.length() + 8L * STRIDE * count + 8L * slots.length;
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
        long head = Ints.leading(bytes, start, length);
        long neck = Ints.leading(bytes, start + 8, length - 8);
        int hash = hash(bytes, start, length, head, neck, partition);
        int mask = slots.length - 1;
        int at = hash & mask;
        for (long slot = slots[at]; slot != 0; slot = slots[at = at + 1 & mask]) {
            if (high(slot) == hash) {
                int entry = (int) slot - 1;
                if (isKey(entry, bytes, start, length, head, neck, partition)) {
                    keys.truncate(start);
                    return entry;
                }
            }
        }
        slots[at] = pair(hash, count + 1);
        return add(start, length, head, neck, partition);
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
                && (length <= INLINE_BYTES || Ints.equal(bytes, keyStart(entry), bytes, start, length));
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
