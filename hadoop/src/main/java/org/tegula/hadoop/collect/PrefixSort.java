package org.tegula.hadoop.collect;

/** Sorts numbers, unsigned, with their data, by their bytes from the lowest to the highest. */
final class PrefixSort {
    private static final int DIGITS = Long.BYTES;
    private static final int RADIX = 1 << Byte.SIZE;

    private PrefixSort() {}

    /**
     * Sorts in place; those of equal numbers keep their order. It takes time in proportion to the count, and as much room
     * again.
     *
     * @param numbers to sort by
     * @param with is moved as they are
     */
    static void sort(long[] numbers, int[] with) {
        int[][] places = countDigits(numbers);
        long[] from = numbers;
        int[] fromWith = with;
        long[] to = new long[numbers.length];
        int[] toWith = new int[numbers.length];
        for (int digit = 0; digit < DIGITS; digit++) {
            int shift = digit * Byte.SIZE;
            if (numbers.length == 0 || places[digit][digit(numbers[0], shift)] == numbers.length) {
                continue; // all have the same
            }
            int[] next = starts(places[digit]);
            for (int i = 0; i < from.length; i++) {
                int place = next[digit(from[i], shift)]++;
                to[place] = from[i];
                toWith[place] = fromWith[i];
            }
            long[] spare = from;
            from = to;
            to = spare;
            int[] spareWith = fromWith;
            fromWith = toWith;
            toWith = spareWith;
        }
        if (from != numbers) {
            System.arraycopy(from, 0, numbers, 0, numbers.length);
            System.arraycopy(fromWith, 0, with, 0, with.length);
        }
    }

    private static int digit(long number, int shift) {
        return (int) (number >>> shift) & RADIX - 1;
    }

    private static int[][] countDigits(long[] numbers) {
        int[][] counts = new int[DIGITS][RADIX];
        for (long number : numbers) {
            for (int digit = 0; digit < DIGITS; digit++) {
                counts[digit][digit(number, digit * Byte.SIZE)]++;
            }
        }
        return counts;
    }

    private static int[] starts(int[] counts) {
        int[] starts = new int[RADIX];
        for (int i = 1; i < RADIX; i++) {
            starts[i] = starts[i - 1] + counts[i - 1];
        }
        return starts;
    }
}
