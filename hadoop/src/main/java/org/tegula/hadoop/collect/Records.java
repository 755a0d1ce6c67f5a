package org.tegula.hadoop.collect;

import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.util.IndexedSortable;
import org.apache.hadoop.util.IndexedSorter;
import org.apache.hadoop.util.QuickSort;
import org.tegula.hadoop.memory.Ints;
import org.tegula.hadoop.run.KeyPrefix;

/**
 * Keys to be sorted, by partition and comparator. The sorted records are their numbers, with the first eight bytes of each key.
 *
 * <p>Equal keys come in the order that Hadoop's own sort gives them, which is not that in which they were added: it is
 * the same algorithm, and it begins with the last record, as Hadoop's buffer does.
 */
final class Records implements IndexedSortable {
    private static final int START = 0;
    private static final int LENGTH = 1;
    private static final int PARTITION = 2;
    private static final int STRIDE = 3;

    private final RawComparator<?> comparator;
    private final KeyPrefix prefix;
    private int[] fields = new int[STRIDE << 6];
    private int count;
    private byte[] bytes;
    private int[] order;
    private long[] prefixes;

    Records(RawComparator<?> comparator) {
        this.comparator = comparator;
        this.prefix = KeyPrefix.of(comparator);
    }

    boolean isOrderKnown() {
        return prefix != KeyPrefix.NONE;
    }

    void add(int keyStart, int keyLength, int partition) {
        int at = count * STRIDE;
        if (at == fields.length) {
            fields = Ints.doubled(fields);
        }
        fields[at + START] = keyStart;
        fields[at + LENGTH] = keyLength;
        fields[at + PARTITION] = partition;
        count++;
    }

    int count() {
        return count;
    }

    /** Returns the memory of the sort beside the bytes. */
    static int bytesPerRecord() {
        return 4 * STRIDE + 4 + 8;
    }

    void clear() {
        count = 0;
        order = null;
        prefixes = null;
    }

    /** Sorts keys in the order of a sorter; if that is Hadoop's own, another algorithm with the same order may be used. */
    void sort(byte[] keys, IndexedSorter sorter) {
        if (sorter.getClass() == QuickSort.class && sortAscendingRuns(keys)) {
            return;
        }
        begin(keys);
        if (count > 0) { // Hadoop's sort has no depth for nothing
            sorter.sort(this, 0, count);
        }
    }

    private boolean sortAscendingRuns(byte[] keys) {
        begin(keys);
        for (int low = 0, high = count - 1; low < high; low++, high--) {
            swap(low, high);
        }
        sortByPartition();
        return RunSort.sort(order, prefixes, this::compareRecords) && areDistinct();
    }

    /** A program's comparator may call one key less than another, and also the other way round. */
    private boolean areDistinct() {
        for (int i = 1; i < count && prefix == KeyPrefix.NONE; i++) {
            if (compare(i, i - 1) <= 0) {
                return false;
            }
        }
        return true;
    }

    /**
     * Sorts keys of which no two have the same bytes. If the comparator is known, no two are equal then, and any algorithm
     * gives the same order: their first eight bytes are sorted as numbers, and only keys with equal ones are compared.
     */
    void sortDistinct(byte[] keys, IndexedSorter sorter) {
        if (prefix == KeyPrefix.NONE) {
            sort(keys, sorter);
            return;
        }
        begin(keys);
        PrefixSort.sort(prefixes, order);
        sortByPartition();
        for (int from = 0; from < count; ) {
            int to = from + 1;
            while (to < count && prefixes[to] == prefixes[from] && partition(order[to]) == partition(order[from])) {
                to++;
            }
            if (to - from > 1) {
                sorter.sort(this, from, to);
            }
            from = to;
        }
    }

    /** Brings those of a partition together, in the order that they have. */
    private void sortByPartition() {
        int most = 0;
        for (int record = 0; record < count; record++) {
            most = Math.max(most, partition(record));
        }
        if (most == 0) {
            return;
        }
        int[] places = new int[most + 2];
        for (int record = 0; record < count; record++) {
            places[partition(record) + 1]++;
        }
        for (int partition = 0; partition < most; partition++) {
            places[partition + 1] += places[partition];
        }
        int[] newOrder = new int[count];
        long[] newPrefixes = new long[count];
        for (int rank = 0; rank < count; rank++) {
            int place = places[partition(order[rank])]++;
            newOrder[place] = order[rank];
            newPrefixes[place] = prefixes[rank];
        }
        order = newOrder;
        prefixes = newPrefixes;
    }

    private void begin(byte[] keys) {
        bytes = keys;
        order = new int[count];
        prefixes = new long[count];
        for (int i = 0; i < count; i++) {
            int record = count - 1 - i;
            order[i] = record;
            prefixes[i] = prefix.of(bytes, keyStart(record), keyLength(record));
        }
    }

    /** Ranks the records as they were added, if they are sorted that way. */
    boolean inOrder(byte[] keys) {
        bytes = keys;
        order = new int[count];
        prefixes = new long[count];
        for (int i = 0; i < count; i++) {
            order[i] = i;
            prefixes[i] = prefix.of(bytes, keyStart(i), keyLength(i));
            if (i > 0 && compare(i - 1, i) > 0) {
                return false;
            }
        }
        return true;
    }

    /** The number of the record that has a rank. */
    int at(int rank) {
        return order[rank];
    }

    int keyStart(int record) {
        return fields[record * STRIDE + START];
    }

    int keyLength(int record) {
        return fields[record * STRIDE + LENGTH];
    }

    int partition(int record) {
        return fields[record * STRIDE + PARTITION];
    }

    @Override
    public int compare(int i, int j) {
        return compareRecords(order[i], prefixes[i], order[j], prefixes[j]);
    }

    private int compareRecords(int left, long leftStart, int right, long rightStart) {
        int leftPartition = partition(left);
        int rightPartition = partition(right);
        if (leftPartition != rightPartition) {
            return leftPartition - rightPartition;
        }
        if (leftStart != rightStart) {
            return Long.compareUnsigned(leftStart, rightStart);
        }
        return comparator.compare(bytes, keyStart(left), keyLength(left), bytes, keyStart(right), keyLength(right));
    }

    @Override
    public void swap(int i, int j) {
        int number = order[i];
        order[i] = order[j];
        order[j] = number;
        long value = prefixes[i];
        prefixes[i] = prefixes[j];
        prefixes[j] = value;
    }
}
