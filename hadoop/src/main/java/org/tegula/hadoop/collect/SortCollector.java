package org.tegula.hadoop.collect;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.IndexedSorter;
import org.apache.hadoop.util.QuickSort;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunWriter;

/** Keeps all pairs as bytes until its buffer is full or the task ends; then they are sorted, combined and written. */
final class SortCollector<K, V> implements Collector<K, V> {
    private final CollectContext<K, V> context;
    private final RawComparator<?> grouping;
    private final IndexedSorter sorter;
    private final List<Run> runs = new ArrayList<>();
    private final Counters.Counter outputRecords;
    private final Counters.Counter outputBytes;
    private final Counters.Counter spilled;
    private PairBuffer<K, V> buffer;
    private boolean finished;

    SortCollector(CollectContext<K, V> context) throws IOException {
        this.context = context;
        grouping = context.conf().getCombinerKeyGroupingComparator();
        Class<? extends IndexedSorter> sort =
                context.conf().getClass(MRJobConfig.MAP_SORT_CLASS, QuickSort.class, IndexedSorter.class);
        sorter = ReflectionUtils.newInstance(sort, context.conf());
        buffer = new PairBuffer<>(context.conf());
        outputRecords = context.reporter().getCounter(TaskCounter.MAP_OUTPUT_RECORDS);
        outputBytes = context.reporter().getCounter(TaskCounter.MAP_OUTPUT_BYTES);
        spilled = context.reporter().getCounter(TaskCounter.SPILLED_RECORDS);
    }

    @Override
    public synchronized void collect(K key, V value, int partition) throws IOException, InterruptedException {
        buffer.add(key, value, partition);
        if (buffer.heldBytes() >= context.bufferBytes()) {
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

    /** Sorts what is in the buffer, writes it to a run, and empties the buffer. */
    private void seal() throws IOException, InterruptedException {
        if (buffer.count() == 0) {
            return;
        }
        outputRecords.increment(buffer.count());
        outputBytes.increment(buffer.bytes());
        buffer.sort(sorter);
        if (context.combiner() != null) {
            combine();
        }
        int partitions = context.conf().getNumReduceTasks();
        try (RunWriter writer = RunWriter.create(buffer.runBytes(), partitions, context.memory(), context.disk())) {
            if (writer.onDisk()) {
                spilled.increment(buffer.count());
            }
            runs.add(buffer.writeTo(writer));
        }
        buffer.clear();
    }

    /** Replaces the sorted pairs by what the combiner makes of them; it may emit other keys, in any order. */
    private void combine() throws IOException, InterruptedException {
        PairBuffer<K, V> combined = new PairBuffer<>(context.conf());
        PairBuffer<K, V>.SortedGroups groups = buffer.groups(grouping);
        while (groups.nextPartition()) {
            int partition = groups.partition();
            context.combiner().combine(groups, (key, value) -> combined.add(key, value, partition));
        }
        combined.sortUnlessSorted(sorter);
        buffer = combined;
    }
}
