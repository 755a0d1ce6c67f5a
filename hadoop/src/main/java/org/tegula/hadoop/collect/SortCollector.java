package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.util.QuickSort;
import org.tegula.hadoop.run.KeyOrders;
import org.tegula.hadoop.run.RunWriter;

/**
 * Keeps all pairs as bytes until its buffer is full or the task ends; then they are sorted, combined and written: by a
 * {@link Helper} while the next buffer fills, where a slot is free.
 */
final class SortCollector<K, V> extends RunCollector<K, V> {
    private final RawComparator<?> grouping;
    private PairBuffer<K, V> buffer;
    /** The bytes of values in the buffer that go as objects. */
    private long hiddenBytes;

    SortCollector(CollectContext<K, V> context) throws IOException {
        super(context);
        grouping = KeyOrders.combinerGroups(context.conf());
        buffer = new PairBuffer<>(context.conf(), context.live());
    }

    @Override
    public synchronized void collect(K key, V value, int partition) throws IOException, InterruptedException {
        buffer.add(key, value, partition);
        if (buffer.heldBytes() >= context.bufferBytes()) {
            handOn();
        } else if (isAsked()) {
            countOutput();
        }
    }

    /**
     * Sorts and writes the buffer, in a helper if there is one and the work needs none of the program's code. The helper's slot
     * brings its share of memory, which holds the next buffer.
     */
    private void handOn() throws IOException, InterruptedException {
        helper.await();
        PairBuffer<K, V> full = buffer;
        boolean ours = context.combiner() == null && full.isOrderKnown() && sorter.getClass() == QuickSort.class;
        if (ours && helper.begin(() -> sortAndWrite(full))) {
            countOutput();
            buffer = new PairBuffer<>(context.conf(), context.live());
            countAnew();
            hiddenBytes = 0;
        } else {
            seal();
        }
    }

    /** Sorts the buffer, writes it to a run, and empties it. */
    @Override
    void seal() throws IOException, InterruptedException {
        helper.await();
        if (buffer.count() == 0) {
            return;
        }
        countOutput();
        buffer.sort(sorter);
        if (context.combiner() != null) {
            combine();
        }
        write(buffer);
        buffer.clear();
        countAnew();
        hiddenBytes = 0;
    }

    private void countOutput() {
        hiddenBytes += context.live() == null ? 0 : context.live().takeHiddenBytes();
        countOutput(buffer.count(), buffer.bytes() + hiddenBytes);
    }

    private Void sortAndWrite(PairBuffer<K, V> full) throws IOException {
        full.sort(sorter);
        write(full);
        return null;
    }

    private void write(PairBuffer<K, V> sorted) throws IOException {
        try (RunWriter writer = newRun(sorted.runBytes())) {
            if (writer.onDisk()) {
                spilled.increment(sorted.count());
            }
            runs.add(sorted.writeTo(writer));
        }
    }

    /** Replaces the sorted pairs by the combiner's output; it may emit other keys, in any order. */
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
