package org.tegula.hadoop.collect;

import java.util.Arrays;

/**
 * Sorts data of few ascending runs, such as the output of sorted files, by merging neighbours: in one pass over the data if
 * there is one run alone. It is for distinct keys, for which any algorithm gives the same order. It finds equal keys, because
 * they would be neighbours in the result and are compared.
 */
final class RunSort {
    /** The records that a run must have on average; with fewer, another algorithm is faster. */
    private static final int LEAST_AVERAGE = 8;

    private final Order order;
    private int[] records;
    private long[] prefixes;
    private int[] ends;
    private int runs;

    /** Compares records by their numbers and the first bytes of their keys. */
    interface Order {
        int compare(int left, long leftPrefix, int right, long rightPrefix);
    }

    private RunSort(int[] records, long[] prefixes, Order order) {
        this.records = records;
        this.prefixes = prefixes;
        this.order = order;
    }

    /**
     * Sorts records, if it can; else they are in any order afterwards.
     *
     * @param records numbers of records
     * @param prefixes the first bytes of their keys
     * @param order of the records
     * @return false if two are equal, or there are many runs
     */
    static boolean sort(int[] records, long[] prefixes, Order order) {
        RunSort sort = new RunSort(records, prefixes, order);
        if (!sort.findRuns() || !sort.mergeAll()) {
            return false;
        }
        if (sort.records != records) {
            System.arraycopy(sort.records, 0, records, 0, records.length);
            System.arraycopy(sort.prefixes, 0, prefixes, 0, records.length);
        }
        return true;
    }

    private boolean findRuns() {
        int most = records.length / LEAST_AVERAGE + 1;
        ends = new int[Math.min(most, 1 << 4)];
        for (int at = 1; at <= records.length; at++) {
            int compared = at == records.length ? 1 : compare(at - 1, at);
            if (compared == 0 || compared > 0 && runs == most) {
                return false;
            }
            if (compared > 0) {
                ends = runs == ends.length ? Arrays.copyOf(ends, 2 * runs) : ends;
                ends[runs++] = at;
            }
        }
        return true;
    }

    private int compare(int left, int right) {
        return order.compare(records[left], prefixes[left], records[right], prefixes[right]);
    }

    private boolean mergeAll() {
        int[] to = runs > 1 ? new int[records.length] : null;
        long[] toPrefixes = runs > 1 ? new long[records.length] : null;
        while (runs > 1) {
            int merged = 0;
            int start = 0;
            for (int run = 0; run < runs; run += 2) {
                int end = ends[Math.min(run + 1, runs - 1)];
                if (!merge(start, ends[run], end, to, toPrefixes)) {
                    return false;
                }
                ends[merged++] = end;
                start = end;
            }
            runs = merged;
            int[] from = records;
            long[] fromPrefixes = prefixes;
            records = to;
            prefixes = toPrefixes;
            to = from;
            toPrefixes = fromPrefixes;
        }
        return true;
    }

    /** Merges two runs that lie side by side; false if two records are equal. */
    private boolean merge(int start, int middle, int end, int[] to, long[] toPrefixes) {
        int left = start;
        int right = middle;
        for (int at = start; at < end; at++) {
            int compared = left == middle ? 1 : right == end ? -1 : compare(left, right);
            if (compared == 0) {
                return false;
            }
            int from = compared < 0 ? left++ : right++;
            to[at] = records[from];
            toPrefixes[at] = prefixes[from];
        }
        return true;
    }
}
