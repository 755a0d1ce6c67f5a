package org.tegula.hadoop.task;

import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.collect.SpareSlots;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.run.SpillFiles;

/**
 * The resources that all attempts of a job share.
 *
 * @param conf the job's configuration, which attempts copy
 * @param memory for map output
 * @param disk for map output that memory has no room for
 * @param cache of pairs that jobs have read and written before
 * @param live large values on their way from maps to reduces
 * @param bufferBytes how much one map task collects before it sorts
 * @param splits of the map tasks
 * @param spare slots that no task needs
 * @param commits who commits what they write
 */
public record JobResources(
        JobConf conf,
        MemoryBudget memory,
        SpillFiles disk,
        PairCache cache,
        LiveValues live,
        long bufferBytes,
        SplitFile splits,
        SpareSlots spare,
        Commits commits) {}
