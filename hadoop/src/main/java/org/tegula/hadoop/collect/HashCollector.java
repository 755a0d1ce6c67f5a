package org.tegula.hadoop.collect;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.IndexedSorter;
import org.apache.hadoop.util.QuickSort;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunWriter;

/**
 * Combines while the map emits: values of a key wait in a chain, and whenever those that wait fill their arena, the
 * combiner makes few of many. Only the keys that are left at the end are sorted.
 *
 * <p>Keys are the same if their bytes are, which every order of keys agrees with. An order may hold other bytes to be
 * equal, too; then the combiner is not shown all values of a key at once, which Hadoop does not promise either.
 */
final class HashCollector<K, V> implements Collector<K, V> {
    /** So much waits at first: it stays in the processor's cache. */
    private static final int FIRST_WAITING_BYTES = 1 << 20;

    private final CollectContext<K, V> context;
    private final int partitions;
    private final IndexedSorter sorter;
    private final PairTypes<K, V> types;
    private final KeyTable table = new KeyTable();
    private final Serializer<K> keys;
    private final Arena emittedKey = new Arena(1 << 10);
    private final Serializer<K> emittedKeys;
    private final PairBuffer<K, V> strays;
    private ValueChains<V> waiting;
    private ValueChains<V> combined;
    private long waitingBytes = FIRST_WAITING_BYTES;
    private final List<Run> runs = new ArrayList<>();
    private final Counters.Counter outputRecords;
    private final Counters.Counter outputBytes;
    private final Counters.Counter spilled;
    private long pairs;
    private long pairBytes;
    private boolean finished;

    HashCollector(CollectContext<K, V> context) throws IOException {
        this.context = context;
        partitions = context.conf().getNumReduceTasks();
        Class<? extends IndexedSorter> sort =
                context.conf().getClass(MRJobConfig.MAP_SORT_CLASS, QuickSort.class, IndexedSorter.class);
        sorter = ReflectionUtils.newInstance(sort, context.conf());
        types = new PairTypes<>(context.conf());
        keys = types.keysTo(table.keys());
        emittedKeys = types.keysTo(emittedKey);
        strays = new PairBuffer<>(context.conf());
        waiting = new ValueChains<>(types);
        combined = new ValueChains<>(types);
        outputRecords = context.reporter().getCounter(TaskCounter.MAP_OUTPUT_RECORDS);
        outputBytes = context.reporter().getCounter(TaskCounter.MAP_OUTPUT_BYTES);
        spilled = context.reporter().getCounter(TaskCounter.SPILLED_RECORDS);
    }

    @Override
    public synchronized void collect(K key, V value, int partition) throws IOException, InterruptedException {
        types.check(key, value, partition);
        int start = table.keys().length();
        keys.serialize(key);
        pairBytes += table.keys().length() - start;
        pairBytes += waiting.append(table.entry(start, partition), value);
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

    @Override
    public synchronized List<Run> finish() throws IOException, InterruptedException {
        seal();
        finished = true;
        return runs;
    }

    @Override
    public synchronized void close() {
        if (!finished) {
            runs.forEach(Run::release);
            finished = true;
        }
    }

    /** Lets the combiner see every key, or only those with several values. */
    private void combine(boolean all) throws IOException, InterruptedException {
        waiting.require(table.count());
        combined.clear();
        combined.require(table.count());
        int[] entries = new int[table.count()];
        int[] ends = byPartition(entries, all);
        for (int partition = 0; partition < partitions; partition++) {
            int from = partition == 0 ? 0 : ends[partition - 1];
            if (from < ends[partition]) {
                ChainedGroups groups = new ChainedGroups(table, waiting, entries, from, ends[partition]);
                int number = partition;
                context.combiner().combine(groups, (key, value) -> keep(groups.entry(), key, value, number));
            }
        }
        ValueChains<V> old = waiting;
        waiting = combined;
        combined = old;
        strays.moveTo(table, waiting);
    }

    /** Puts the keys that are to be combined in the order of partitions; takes over the others' values. */
    private int[] byPartition(int[] entries, boolean all) {
        int[] ends = new int[partitions];
        for (int entry = 0; entry < entries.length; entry++) {
            if (!all && waiting.isSingle(entry)) {
                int link = waiting.first(entry);
                if (link != ValueChains.NONE) {
                    combined.append(entry, waiting.bytes(), waiting.valueStart(link), waiting.valueLength(link));
                }
            } else if (waiting.first(entry) != ValueChains.NONE) {
                ends[table.partition(entry)]++;
            }
        }
        int[] next = new int[partitions];
        for (int partition = 1; partition < partitions; partition++) {
            next[partition] = ends[partition - 1];
            ends[partition] += ends[partition - 1];
        }
        for (int entry = 0; entry < entries.length; entry++) {
            if (waiting.first(entry) != ValueChains.NONE && (all || !waiting.isSingle(entry))) {
                entries[next[table.partition(entry)]++] = entry;
            }
        }
        return ends;
    }

    /** Takes what the combiner emits: mostly the key that it was given. */
    private void keep(int entry, K key, V value, int partition) throws IOException {
        types.check(key, value, partition);
        emittedKey.truncate(0);
        emittedKeys.serialize(key);
        if (entry != ValueChains.NONE && isKey(entry)) {
            combined.append(entry, value);
        } else {
            strays.add(key, value, partition);
        }
    }

    private boolean isKey(int entry) {
        int start = table.keyStart(entry);
        int end = start + table.keyLength(entry);
        return Arrays.equals(table.keys().bytes(), start, end, emittedKey.bytes(), 0, emittedKey.length());
    }

    /** Combines all that is there, sorts it, writes it to a run, and begins anew. */
    private void seal() throws IOException, InterruptedException {
        outputRecords.increment(pairs);
        outputBytes.increment(pairBytes);
        pairs = 0;
        pairBytes = 0;
        if (table.count() == 0) {
            return;
        }
        combine(true);
        Records records = new Records(context.conf().getOutputKeyComparator());
        long bytes = 0;
        waiting.require(table.count());
        for (int entry = 0; entry < table.count(); entry++) {
            records.add(table.keyStart(entry), table.keyLength(entry), table.partition(entry));
            for (int link = waiting.first(entry); link != ValueChains.NONE; link = waiting.next(link)) {
                bytes += RunWriter.recordBytes(table.keyLength(entry), waiting.valueLength(link));
            }
        }
        records.sort(table.keys().bytes(), sorter);
        try (RunWriter writer = RunWriter.create(bytes, partitions, context.memory(), context.disk())) {
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
        for (int link = waiting.first(entry); link != ValueChains.NONE; link = waiting.next(link)) {
            writer.append(
                    table.partition(entry),
                    table.keys().bytes(),
                    table.keyStart(entry),
                    table.keyLength(entry),
                    waiting.bytes(),
                    waiting.valueStart(link),
                    waiting.valueLength(link));
            if (writer.onDisk()) {
                spilled.increment(1);
            }
        }
    }
}
