package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;
import org.tegula.hadoop.run.RunWriter;

/**
 * Combines while the map emits: values of a key wait in a chain, and whenever those that wait fill their arena, the
 * combiner makes few of many. Only the keys that are left at the end are sorted.
 *
 * <p>Keys are the same if their bytes are, which every order of keys agrees with. An order may hold other bytes to be
 * equal, too; then the combiner is not shown all values of a key at once, which Hadoop does not promise either.
 *
 * <p>A combiner gets its keys as the table has them, until it gives nothing back for one: it may then look at more than
 * that key, as one that keeps the first few does. What it did in that pass is forgotten, and from then on keys are sorted
 * for it.
 */
final class HashCollector<K, V> extends RunCollector<K, V> {
    /** So much waits at first: it stays in the processor's cache. */
    private static final int FIRST_WAITING_BYTES = 1 << 21;

    private final PairTypes<K, V> types;
    private final KeyTable table = new KeyTable();
    private final Serializer<K> keys;
    private final Arena emittedKey = new Arena(1 << 10);
    private final Serializer<K> emittedKeys;
    private final PairBuffer<K, V> strays;
    private final Counters.Counter combineInputs;
    private final Counters.Counter combineOutputs;
    private ValueChains<V> waiting;
    private ValueChains<V> combined;
    private long waitingBytes = FIRST_WAITING_BYTES;
    private long pairs;
    private long pairBytes;
    /** Whether the combiner is to see keys in order. */
    private boolean ordered;

    HashCollector(CollectContext<K, V> context) throws IOException {
        super(context);
        types = new PairTypes<>(context.conf());
        keys = types.keysTo(table.keys());
        emittedKeys = types.keysTo(emittedKey);
        strays = new PairBuffer<>(context.conf(), null);
        waiting = new ValueChains<>(types);
        combined = new ValueChains<>(types);
        combineInputs = context.reporter().getCounter(TaskCounter.COMBINE_INPUT_RECORDS);
        combineOutputs = context.reporter().getCounter(TaskCounter.COMBINE_OUTPUT_RECORDS);
    }

    @Override
    public synchronized void collect(K key, V value, int partition) throws IOException, InterruptedException {
        types.check(key, value, partition);
        int start = table.keys().length();
        keys.serialize(key);
        int keyBytes = table.keys().length() - start;
        int entry = table.entry(start, partition);
        int link = waiting.append(table.newest(entry), value);
        table.setNewest(entry, link);
        pairBytes += keyBytes + waiting.valueLength(link);
        pairs++;
        if (waiting.length() >= waitingBytes) {
            makeRoom();
        }
    }

    private void makeRoom() throws IOException, InterruptedException {
        combine(false);
        if (waiting.length() > waitingBytes / 2) {
            waitingBytes = 2L * waiting.length();
        }
        if (table.heldBytes() + waitingBytes > context.bufferBytes()) {
            seal();
        }
    }

    /** Lets the combiner see every key, or only those with several values. */
    private void combine(boolean all) throws IOException, InterruptedException {
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

    /** Puts what the combiner emits aside; false if that is not to be used, for it wants its keys in order. */
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

    /** Sorts keys that stand by partition. */
    private void sort(int[] entries, int[] newest) {
        Records records = new Records(context.conf().getOutputKeyComparator());
        for (int entry : entries) {
            records.add(table.keyStart(entry), table.keyLength(entry), table.partition(entry));
        }
        records.sort(table.keys().bytes(), sorter);
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

    /** How many keys are to be combined, up to the end of each partition. */
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

    /** Takes the keys that are to be combined out of the table, by partition; the others' values are taken over. */
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

    /** Takes what the combiner emits: mostly the key that it was given. */
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
        countOutput(pairs, pairBytes);
        pairs = 0;
        pairBytes = 0;
        if (table.count() == 0) {
            return;
        }
        combine(true);
        Records records = new Records(context.conf().getOutputKeyComparator());
        long bytes = 0;
        for (int entry = 0; entry < table.count(); entry++) {
            records.add(table.keyStart(entry), table.keyLength(entry), table.partition(entry));
            for (int link = table.newest(entry); link != ValueChains.NONE; link = waiting.before(link)) {
                bytes += (long) waiting.times(link)
                        * RunWriter.recordBytes(table.keyLength(entry), waiting.valueLength(link));
            }
        }
        records.sort(table.keys().bytes(), sorter);
        try (RunWriter writer = newRun(bytes)) {
            for (int rank = 0; rank < records.count(); rank++) {
                write(records.at(rank), writer);
            }
            runs.add(writer.finish());
        }
        table.clear();
        waiting.clear();
        waitingBytes = FIRST_WAITING_BYTES;
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
