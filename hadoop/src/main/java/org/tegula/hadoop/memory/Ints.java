package org.tegula.hadoop.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Integers in bytes, as in arenas and runs. */
public final class Ints {
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private Ints() {}

    /**
     * Reads four bytes, the highest first.
     *
     * @param bytes where
     * @param at the place of the first
     * @return the integer
     */
    public static int get(byte[] bytes, int at) {
        return (int) INT.get(bytes, at);
    }

    /**
     * Writes four bytes, the highest first.
     *
     * @param bytes where
     * @param at the place of the first
     * @param value the integer
     */
    public static void put(byte[] bytes, int at, int value) {
        INT.set(bytes, at, value);
    }

    /**
     * Returns the first eight bytes of a string of bytes as a number of the same order, unsigned; missing bytes are zeros.
     *
     * @param bytes where
     * @param at the place of the first
     * @param length how many there are
     * @return the number
     */
    public static long leading(byte[] bytes, int at, int length) {
        if (length <= 0) {
            return 0;
        }
        if (at + 8 <= bytes.length) {
            long value = (long) LONG.get(bytes, at);
            return length >= 8 ? value : value & -1L << 64 - 8 * length;
        }
        long value = 0;
        for (int i = 0; i < Math.min(8, length); i++) {
            value |= (bytes[at + i] & 0xFFL) << 56 - 8 * i;
        }
        return value;
    }

    /**
     * Whether two stretches of bytes are the same; faster than the library for short ones.
     *
     * @param left where one is
     * @param leftAt its first byte
     * @param right where the other is
     * @param rightAt its first byte
     * @param length of both
     * @return whether they are
     */
    public static boolean equal(byte[] left, int leftAt, byte[] right, int rightAt, int length) {
        int at = 0;
        for (; length - at >= 8; at += 8) {
            if ((long) LONG.get(left, leftAt + at) != (long) LONG.get(right, rightAt + at)) {
                return false;
            }
        }
        for (; at < length; at++) {
            if (left[leftAt + at] != right[rightAt + at]) {
                return false;
            }
        }
        return true;
    }

    /**
     * Mixes a number into a hash; good in all bits after {@link #finish}.
     *
     * @param hash of the numbers before
     * @param value the number
     * @return the hash of both
     */
    public static long mix(long hash, long value) {
        long mixed = (hash ^ value) * 0x9FB21C651E98DF25L;
        return mixed ^ mixed >>> 32;
    }

    /**
     * Ends a hash.
     *
     * @param hash of all that was mixed in
     * @return its 32 best bits; the same in every run
     */
    public static int finish(long hash) {
        long mixed = hash * 0xD6E8FEB86659FD93L;
        return (int) (mixed ^ mixed >>> 32);
    }

    /**
     * Room for more entries.
     *
     * @param values an array that is full
     * @return a copy of twice its length
     */
    public static int[] doubled(int[] values) {
        return Arrays.copyOf(values, 2 * values.length);
    }
}
