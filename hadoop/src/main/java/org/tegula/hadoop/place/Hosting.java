package org.tegula.hadoop.place;

import org.apache.hadoop.conf.Configuration;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.collect.SpareSlots;
import org.tegula.hadoop.memory.MemoryBudget;

/**
 * The share of this JVM that the tasks of a place have.
 *
 * @param place its number
 * @param folder the name of its own folder in each of Hadoop's local ones
 * @param memory for runs
 * @param mostBufferBytes the most that a map task collects
 * @param spare threads for helpers of tasks
 */
record Hosting(int place, String folder, MemoryBudget memory, long mostBufferBytes, SpareSlots spare) {
    /** Of the memory, runs have a half; buffers a fourth, and as much again while they grow or are sorted. */
    static Hosting of(int place, String folder, int slots, Configuration conf, SpareSlots spare) {
        long halfHeapMb = Runtime.getRuntime().maxMemory() >> 21;
        long bytes = Math.max(1, conf.getLong(Settings.MEMORY_MB, halfHeapMb)) << 20;
        return new Hosting(place, folder, new MemoryBudget(bytes / 2), bytes / 4 / slots, spare);
    }
}
