package org.tegula.hadoop.api;

/**
 * An input split that says to which partition its pairs belong: its map task runs in the slot that works on the reduce
 * partition of that number, in all jobs, as long as no other slot would be idle for it. Splits of files that jobs have
 * written need not say so. Hadoop ignores it.
 */
public interface PlacedSplit {
    /**
     * The partition of the split's pairs.
     *
     * @return a number from 0
     */
    int getPartition();
}
