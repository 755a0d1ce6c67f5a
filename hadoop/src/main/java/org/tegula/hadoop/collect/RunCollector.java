package org.tegula.hadoop.collect;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.IndexedSorter;
import org.apache.hadoop.util.QuickSort;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunWriter;

/** The common part of all collectors: the runs written so far, their order, and their counters. */
abstract class RunCollector<K, V> implements Collector<K, V> {
    final CollectContext<K, V> context;
    final int partitions;
    final IndexedSorter sorter;
    final List<Run> runs = new ArrayList<>();
    final Counters.Counter spilled;
    private final Counters.Counter outputRecords;
    private final Counters.Counter outputBytes;
    final Helper helper;
    private boolean finished;
    private int asks;
    private long countedPairs;
    private long countedBytes;

    RunCollector(CollectContext<K, V> context) {
        this.context = context;
        helper = new Helper(context.spare());
        partitions = context.conf().getNumReduceTasks();
        Class<? extends IndexedSorter> sort =
                context.conf().getClass(MRJobConfig.MAP_SORT_CLASS, QuickSort.class, IndexedSorter.class);
        sorter = ReflectionUtils.newInstance(sort, context.conf());
        spilled = context.reporter().getCounter(TaskCounter.SPILLED_RECORDS);
        outputRecords = context.reporter().getCounter(TaskCounter.MAP_OUTPUT_RECORDS);
        outputBytes = context.reporter().getCounter(TaskCounter.MAP_OUTPUT_BYTES);
    }

    /** Writes the waiting pairs to a run, and begins anew. */
    abstract void seal() throws IOException, InterruptedException;

    /** Whether somebody has asked for the task's counters since this was last called. */
    final boolean isAsked() {
        int now = context.reporter().asks();
        boolean asked = now != asks;
        asks = now;
        return asked;
    }

    /** Counts pairs as the map emitted them: all of a buffer, some of which may be counted already. */
    final void countOutput(long pairs, long bytes) {
        outputRecords.increment(pairs - countedPairs);
        outputBytes.increment(bytes - countedBytes);
        countedPairs = pairs;
        countedBytes = bytes;
    }

    /** Notes that another buffer begins, of which no pair is counted yet. */
    final void countAnew() {
        countedPairs = 0;
        countedBytes = 0;
    }

    final RunWriter newRun(long bytes) throws IOException {
        return RunWriter.create(bytes, partitions, context.memory(), context.disk());
    }

    @Override
    public final synchronized List<Run> finish() throws IOException, InterruptedException {
        seal();
        finished = true;
        return runs;
    }

    @Override
    public final synchronized void close() {
        if (!finished) {
            helper.abandon();
            runs.forEach(Run::release);
            finished = true;
        }
    }
}
