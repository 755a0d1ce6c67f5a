package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.util.IndexedSorter;
import org.tegula.hadoop.combine.BytesIn;
import org.tegula.hadoop.combine.Groups;
import org.tegula.hadoop.live.LiveWriter;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;
import org.tegula.hadoop.run.KeyOrders;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunWriter;

/** Consecutive serialised pairs in memory that are sorted together. */
final class PairBuffer<K, V> {
    private final Arena bytes = new Arena(1 << 10);
    private final PairTypes<K, V> types;
    private final Serializer<K> keys;
    private final Serializer<V> values;
    private final LiveWriter live;
    private final Records records;
    /** Where each record ends; it begins with its key. */
    private int[] ends = new int[1 << 6];

    /**
     * @param live null if all values are serialised
     */
    PairBuffer(JobConf conf, LiveWriter live) throws IOException {
        types = new PairTypes<>(conf);
        keys = types.keysTo(bytes);
        values = types.valuesTo(bytes);
        this.live = live;
        records = new Records(KeyOrders.sort(conf));
    }

    void add(K key, V value, int partition) throws IOException {
        types.check(key, value, partition);
        int start = bytes.length();
        keys.serialize(key);
        int middle = bytes.length();
        if (live == null) {
            values.serialize(value);
        } else {
            live.write(key, middle - start, value, bytes, values);
        }
        if (records.count() == ends.length) {
            ends = Ints.doubled(ends);
        }
        ends[records.count()] = bytes.length();
        records.add(start, middle - start, partition);
    }

    int count() {
        return records.count();
    }

    /** The serialised pairs alone. */
    int bytes() {
        return bytes.length();
    }

    /** All that the buffer needs to be sorted. */
    long heldBytes() {
        return bytes.length() + (long) records.count() * (Records.bytesPerRecord() + 4);
    }

    void clear() {
        records.clear();
        bytes.truncate(0);
    }

    /** Whether the order of keys is one that the engine knows, and not code of a program. */
    boolean isOrderKnown() {
        return records.isOrderKnown();
    }

    void sort(IndexedSorter sorter) {
        records.sort(bytes.bytes(), sorter);
    }

    /** For pairs that come from sorted ones, and may be sorted already. */
    void sortUnlessSorted(IndexedSorter sorter) {
        if (!records.inOrder(bytes.bytes())) {
            records.sort(bytes.bytes(), sorter);
        }
    }

    /** The size of a run of all pairs. */
    long runBytes() {
        long total = 0;
        for (int record = 0; record < records.count(); record++) {
            total += RunWriter.recordBytes(records.keyLength(record), valueLength(record));
        }
        return total;
    }

    /** Writes all pairs, which must be sorted. */
    Run writeTo(RunWriter writer) throws IOException {
        byte[] from = bytes.bytes();
        for (int rank = 0; rank < records.count(); rank++) {
            int record = records.at(rank);
            int start = records.keyStart(record);
            int length = records.keyLength(record);
            int valueLength = valueLength(record);
            writer.append(records.partition(record), from, start, length, from, start + length, valueLength);
            if (live != null) {
                writer.addHidden(length, valueLength, LiveWriter.wholeLength(from, start + length, valueLength));
            }
        }
        return writer.finish();
    }

    private int valueLength(int record) {
        return ends[record] - records.keyStart(record) - records.keyLength(record);
    }

    /** Adds all pairs to a table. */
    void moveTo(KeyTable table, ValueChains<V> chains) {
        for (int record = 0; record < records.count(); record++) {
            int start = records.keyStart(record);
            int length = records.keyLength(record);
            int entry = table.entry(bytes.bytes(), start, length, records.partition(record));
            int link = chains.append(table.newest(entry), bytes.bytes(), start + length, valueLength(record), 1);
            table.setNewest(entry, link);
        }
        clear();
    }

    /** The pairs, which must be sorted, in groups. */
    SortedGroups groups(RawComparator<?> grouping) {
        return new SortedGroups(grouping);
    }

    /** The groups of one partition after the other. */
    final class SortedGroups implements Groups {
        private final RawComparator<?> grouping;
        private int at = -1;
        private int groupEnd;
        private int partitionEnd;

        private SortedGroups(RawComparator<?> grouping) {
            this.grouping = grouping;
        }

        /** Advances to the next partition that has pairs. */
        boolean nextPartition() {
            if (partitionEnd == records.count()) {
                return false;
            }
            groupEnd = partitionEnd;
            at = groupEnd - 1;
            int partition = partition();
            do {
                partitionEnd++;
            } while (partitionEnd < records.count() && records.partition(records.at(partitionEnd)) == partition);
            return true;
        }

        int partition() {
            return records.partition(records.at(at + 1));
        }

        @Override
        public boolean nextGroup() {
            if (groupEnd == partitionEnd) {
                return false;
            }
            int first = records.at(groupEnd);
            at = groupEnd - 1;
            do {
                groupEnd++;
            } while (groupEnd < partitionEnd && sameGroup(first, records.at(groupEnd)));
            return true;
        }

        private boolean sameGroup(int left, int right) {
            byte[] keys = bytes.bytes();
            return grouping.compare(
                            keys,
                            records.keyStart(left),
                            records.keyLength(left),
                            keys,
                            records.keyStart(right),
                            records.keyLength(right))
                    == 0;
        }

        @Override
        public boolean nextPair() {
            if (!hasPair()) {
                return false;
            }
            at++;
            return true;
        }

        @Override
        public boolean hasPair() {
            return at + 1 < groupEnd;
        }

        @Override
        public void key(BytesIn buffer) {
            int record = records.at(at);
            buffer.reset(bytes.bytes(), records.keyStart(record), records.keyLength(record));
        }

        @Override
        public void value(BytesIn buffer) {
            int record = records.at(at);
            int start = records.keyStart(record) + records.keyLength(record);
            buffer.reset(bytes.bytes(), start, ends[record] - start);
        }

        @Override
        public boolean sameKeys() {
            return false;
        }

        @Override
        public long position() {
            return at;
        }

        @Override
        public void seek(long position) {
            at = (int) position;
        }
    }
}
