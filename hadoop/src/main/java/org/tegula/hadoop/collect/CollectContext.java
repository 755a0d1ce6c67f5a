package org.tegula.hadoop.collect;

import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.combine.Combiner;
import org.tegula.hadoop.live.LiveWriter;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.run.SpillFiles;
import org.tegula.hadoop.task.TaskReporter;

/**
 * The parts from which a collector is made.
 *
 * @param conf the configuration of the task
 * @param reporter takes counters
 * @param combiner null if there is none
 * @param memory for runs
 * @param disk for runs that memory has no room for
 * @param bufferBytes how much is collected before it is sorted
 * @param live passes large values on as objects; null if all are serialised
 * @param spare slots that may help
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public record CollectContext<K, V>(
        JobConf conf,
        TaskReporter reporter,
        Combiner<K, V> combiner,
        MemoryBudget memory,
        SpillFiles disk,
        long bufferBytes,
        LiveWriter live,
        SpareSlots spare) {
    /**
     * The collector that fits the job: a combiner is fed by hash, unless it groups by an order of its own.
     *
     * @return a collector, to be closed
     * @throws java.io.IOException if there is no serialiser for the keys or values
     */
    public Collector<K, V> collector() throws java.io.IOException {
        boolean ownGroups = conf.get(org.apache.hadoop.mapreduce.MRJobConfig.COMBINER_GROUP_COMPARATOR_CLASS) != null;
        return combiner != null && !ownGroups ? new HashCollector<>(this) : new SortCollector<>(this);
    }
}
