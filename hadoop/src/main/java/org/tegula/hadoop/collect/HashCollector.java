package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;
import org.tegula.hadoop.run.KeyOrders;
import org.tegula.hadoop.run.RunWriter;

/**
 * Combines while the map emits: values of a key wait in a chain, and whenever the waiting ones fill their arena, the combiner
 * makes few of many. Only the remaining keys are sorted at the end. Pairs come to the table by batches, which a {@link Helper}
 * takes there where a slot is free; the combiner runs in the thread of the task.
 *
 * <p>Keys are the same if their bytes are, which every order of keys agrees with. An order may hold other bytes to be
 * equal, too; then the combiner is not shown all values of a key at once, which Hadoop does not promise either.
 *
 * <p>A combiner gets its keys in the order of the table, until it returns nothing for one: it may then depend on other keys, as
 * one that keeps the first few does. The results of that pass are dropped, and from then on keys are sorted for it.
 */
final class HashCollector<K, V> extends RunCollector<K, V> {
    /** The first size of the waiting values, if it is a small part of the buffer: it stays in the processor's cache. */
    private static final int FIRST_WAITING_BYTES = 1 << 21;

    private static final int WAITING_SHARE = 4;

    private final PairTypes<K, V> types;
    private final KeyTable table = new KeyTable();
    private PairBatch<K, V> batch;
    /** The one that a helper takes into the table, or none does. */
    private PairBatch<K, V> other;

    /** The numbers of keys of pairs that go into the table together. */
    private final int[] group = new int[KeyTable.GROUP];

    private final Arena emittedKey = new Arena(1 << 10);
    private final Serializer<K> emittedKeys;
    private final PairBuffer<K, V> strays;
    private final Counters.Counter combineInputs;
    private final Counters.Counter combineOutputs;
    private ValueChains<V> waiting;
    private ValueChains<V> combined;
    private final long firstWaitingBytes;
    private long waitingBytes;
    /** Whether the combiner is to see keys in order. */
    private boolean ordered;

    /** Uses what was read ahead, so that the compiler does not remove the reads. */
    private long touched;

    HashCollector(CollectContext<K, V> context) throws IOException {
        super(context);
        types = new PairTypes<>(context.conf());
        batch = new PairBatch<>(types, context.bufferBytes());
        other = new PairBatch<>(types, context.bufferBytes());
        emittedKeys = types.keysTo(emittedKey);
        strays = new PairBuffer<>(context.conf(), null);
        firstWaitingBytes = Math.min(FIRST_WAITING_BYTES, context.bufferBytes() / WAITING_SHARE);
        waitingBytes = firstWaitingBytes;
        waiting = new ValueChains<>(types);
        combined = new ValueChains<>(types);
        combineInputs = context.reporter().getCounter(TaskCounter.COMBINE_INPUT_RECORDS);
        combineOutputs = context.reporter().getCounter(TaskCounter.COMBINE_OUTPUT_RECORDS);
    }

    @Override
    public synchronized void collect(K key, V value, int partition) throws IOException, InterruptedException {
        types.check(key, value, partition);
        batch.add(key, value, partition);
        if (batch.isFull()) {
            handOn();
        } else if (isAsked()) {
            countOutput(batch.count(), batch.pairBytes());
        }
    }

    /** Lets a helper, if there is one, take the last batch into the table. */
    private void handOn() throws IOException, InterruptedException {
        helper.await();
        makeRoom();
        countOutput(batch.count(), batch.pairBytes());
        countAnew();
        PairBatch<K, V> full = batch;
        if (helper.begin(() -> absorb(full))) {
            batch = other;
            other = full;
        } else {
            absorb(full);
        }
    }

    private Void absorb(PairBatch<K, V> full) {
        for (int from = 0; from < full.count(); from += KeyTable.GROUP) {
            int count = Math.min(KeyTable.GROUP, full.count() - from);
            table.entries(full, from, count, group);
            for (int i = 0; i < count; i++) {
                addValue(full, from + i, group[i]);
            }
        }
        full.clear();
        return null;
    }

    private void makeRoom() throws IOException, InterruptedException {
        if (waiting.length() >= waitingBytes) {
            combine(false);
            if (waiting.length() > waitingBytes / 2) {
                waitingBytes = 2L * waiting.length();
            }
        }
        if (table.heldBytes() + waitingBytes > context.bufferBytes()) {
            writeRun();
        }
    }

    private void addValue(PairBatch<K, V> full, int pair, int entry) {
        byte[] bytes = full.bytes();
        int start = full.valueStart(pair);
        int length = full.valueLength(pair);
        if (length > KeyTable.VALUE_BYTES) {
            settle(entry);
            table.setNewest(entry, waiting.append(table.newest(entry), bytes, start, length, 1));
            return;
        }
        long value = Ints.leading(bytes, start, length);
        if (!table.again(entry, value, length)) {
            settle(entry);
            table.setValue(entry, value, length, 1);
        }
    }

    /** Lets the short value that a key has with it wait with the others. */
    private void settle(int entry) {
        int times = table.times(entry);
        if (times > 0) {
            int link = waiting.append(table.newest(entry), table.value(entry), table.valueLength(entry), times);
            table.setNewest(entry, link);
            table.setValue(entry, 0, 0, 0);
        }
    }

    /** Lets the combiner see every key, or only those with several values. */
    private void combine(boolean all) throws IOException, InterruptedException {
        for (int entry = 0; entry < table.count(); entry++) {
            if (all || table.newest(entry) != ValueChains.NONE) {
                settle(entry);
            }
        }
        if (ordered) {
            combineOnce(all);
        } else {
            int[] newest = table.newest();
            long inputs = combineInputs.getValue();
            long outputs = combineOutputs.getValue();
            if (!combineOnce(all)) {
                table.setNewest(newest);
                strays.clear();
                combineInputs.setValue(inputs);
                combineOutputs.setValue(outputs);
                ordered = true;
                combineOnce(all);
            }
        }
        ValueChains<V> old = waiting;
        waiting = combined;
        combined = old;
        strays.moveTo(table, waiting);
    }

    /** Puts the combiner's pairs aside; false if they cannot be used because the combiner needs its keys in order. */
    private boolean combineOnce(boolean all) throws IOException, InterruptedException {
        combined.clear();
        int[] ends = countByPartition(all);
        int[] entries = new int[ends[partitions - 1]];
        int[] newest = new int[entries.length];
        takeOut(all, ends.clone(), entries, newest);
        if (ordered) {
            sort(entries, newest);
        }
        for (int partition = 0; partition < partitions; partition++) {
            int from = partition == 0 ? 0 : ends[partition - 1];
            if (from < ends[partition]) {
                ChainedGroups groups =
                        new ChainedGroups(table, waiting, entries, newest, from, ends[partition], !ordered);
                int number = partition;
                context.combiner().combine(groups, (key, value) -> keep(groups, key, value, number));
                if (groups.wasSilent()) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Sorts keys that are grouped by partition. */
    private void sort(int[] entries, int[] newest) {
        Records records = new Records(KeyOrders.sort(context.conf()));
        for (int entry : entries) {
            records.add(table.keyStart(entry), table.keyLength(entry), table.partition(entry));
        }
        records.sortDistinct(table.keys().bytes(), sorter);
        int[] oldEntries = entries.clone();
        int[] oldNewest = newest.clone();
        for (int rank = 0; rank < entries.length; rank++) {
            entries[rank] = oldEntries[records.at(rank)];
            newest[rank] = oldNewest[records.at(rank)];
        }
    }

    private boolean isCombined(int link, boolean all) {
        return link != ValueChains.NONE && (all || waiting.before(link) != ValueChains.NONE);
    }

    /** Counts the keys to combine, up to the end of each partition. */
    private int[] countByPartition(boolean all) {
        int[] ends = new int[partitions];
        for (int entry = 0; entry < table.count(); entry++) {
            if (isCombined(table.newest(entry), all)) {
                ends[table.partition(entry)]++;
            }
        }
        for (int partition = 1; partition < partitions; partition++) {
            ends[partition] += ends[partition - 1];
        }
        return ends;
    }

    /** Takes the keys to combine out of the table, by partition; the others' values are taken over. */
    private void takeOut(boolean all, int[] ends, int[] entries, int[] newest) {
        for (int entry = table.count() - 1; entry >= 0; entry--) {
            int link = table.newest(entry);
            if (isCombined(link, all)) {
                int rank = --ends[table.partition(entry)];
                entries[rank] = entry;
                newest[rank] = link;
                table.setNewest(entry, ValueChains.NONE);
            } else if (link != ValueChains.NONE) {
                int copy = combined.append(
                        ValueChains.NONE,
                        waiting.bytes(),
                        waiting.valueStart(link),
                        waiting.valueLength(link),
                        waiting.times(link));
                table.setNewest(entry, copy);
            }
        }
    }

    /** Takes the pairs that the combiner emits: mostly the key that it was given. */
    private void keep(ChainedGroups groups, K key, V value, int partition) throws IOException {
        types.check(key, value, partition);
        groups.hear();
        int entry = groups.entry();
        emittedKey.truncate(0);
        emittedKeys.serialize(key);
        if (entry != ValueChains.NONE && isKey(entry)) {
            table.setNewest(entry, combined.append(table.newest(entry), value));
        } else {
            strays.add(key, value, partition);
        }
    }

    private boolean isKey(int entry) {
        int length = table.keyLength(entry);
        return length == emittedKey.length()
                && Ints.equal(table.keys().bytes(), table.keyStart(entry), emittedKey.bytes(), 0, length);
    }

    /** Combines all that is there, sorts it, writes it to a run, and begins anew. */
    @Override
    void seal() throws IOException, InterruptedException {
        helper.await();
        countOutput(batch.count(), batch.pairBytes());
        countAnew();
        absorb(batch);
        writeRun();
    }

    private void writeRun() throws IOException, InterruptedException {
        if (table.count() == 0) {
            return;
        }
        combine(true);
        Records records = new Records(KeyOrders.sort(context.conf()));
        long bytes = 0;
        for (int entry = 0; entry < table.count(); entry++) {
            records.add(table.keyStart(entry), table.keyLength(entry), table.partition(entry));
            for (int link = table.newest(entry); link != ValueChains.NONE; link = waiting.before(link)) {
                bytes += (long) waiting.times(link)
                        * RunWriter.recordBytes(table.keyLength(entry), waiting.valueLength(link));
            }
        }
        records.sortDistinct(table.keys().bytes(), sorter);
        try (RunWriter writer = newRun(bytes)) {
            for (int from = 0; from < records.count(); from += KeyTable.GROUP) {
                int to = Math.min(from + KeyTable.GROUP, records.count());
                touch(records, from, to);
                for (int rank = from; rank < to; rank++) {
                    write(records.at(rank), writer);
                }
            }
            runs.add(writer.finish());
        }
        table.clear();
        waiting.clear();
        waitingBytes = firstWaitingBytes;
    }

    /** Reads what is about to be written: the data of keys in order lie anywhere, and the misses of a group overlap. */
    private void touch(Records records, int from, int to) {
        byte[] keys = table.keys().bytes();
        long sum = 0;
        for (int rank = from; rank < to; rank++) {
            sum += table.newest(records.at(rank));
        }
        for (int rank = from; rank < to; rank++) {
            int entry = records.at(rank);
            int link = table.newest(entry);
            sum += table.keyLength(entry) == 0 ? 0 : keys[table.keyStart(entry)];
            sum += link == ValueChains.NONE ? 0 : waiting.before(link);
        }
        touched = sum;
    }

    private void write(int entry, RunWriter writer) throws IOException {
        for (int link = table.newest(entry); link != ValueChains.NONE; link = waiting.before(link)) {
            for (int times = waiting.times(link); times > 0; times--) {
                writer.append(
                        table.partition(entry),
                        table.keys().bytes(),
                        table.keyStart(entry),
                        table.keyLength(entry),
                        waiting.bytes(),
                        waiting.valueStart(link),
                        waiting.valueLength(link));
            }
            if (writer.onDisk()) {
                spilled.increment(waiting.times(link));
            }
        }
    }
}
