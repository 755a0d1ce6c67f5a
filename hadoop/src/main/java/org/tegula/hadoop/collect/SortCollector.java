package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.RawComparator;
import org.tegula.hadoop.run.RunWriter;

/** Keeps all pairs as bytes until its buffer is full or the task ends; then they are sorted, combined and written. */
final class SortCollector<K, V> extends RunCollector<K, V> {
    private final RawComparator<?> grouping;
    private PairBuffer<K, V> buffer;

    SortCollector(CollectContext<K, V> context) throws IOException {
        super(context);
        grouping = context.conf().getCombinerKeyGroupingComparator();
        buffer = new PairBuffer<>(context.conf(), context.live());
    }

    @Override
    public synchronized void collect(K key, V value, int partition) throws IOException, InterruptedException {
        buffer.add(key, value, partition);
        if (buffer.heldBytes() >= context.bufferBytes()) {
            seal();
        }
    }

    /** Sorts what is in the buffer, writes it to a run, and empties the buffer. */
    @Override
    void seal() throws IOException, InterruptedException {
        if (buffer.count() == 0) {
            return;
        }
        long hidden = context.live() == null ? 0 : context.live().takeHiddenBytes();
        countOutput(buffer.count(), buffer.bytes() + hidden);
        buffer.sort(sorter);
        if (context.combiner() != null) {
            combine();
        }
        try (RunWriter writer = newRun(buffer.runBytes())) {
            if (writer.onDisk()) {
                spilled.increment(buffer.count());
            }
            runs.add(buffer.writeTo(writer));
        }
        buffer.clear();
    }

    /** Replaces the sorted pairs by what the combiner makes of them; it may emit other keys, in any order. */
    private void combine() throws IOException, InterruptedException {
        PairBuffer<K, V> combined = new PairBuffer<>(context.conf(), null);
        PairBuffer<K, V>.SortedGroups groups = buffer.groups(grouping);
        while (groups.nextPartition()) {
            int partition = groups.partition();
            context.combiner().combine(groups, (key, value) -> combined.add(key, value, partition));
        }
        combined.sortUnlessSorted(sorter);
        buffer = combined;
    }
}
