package org.tegula.hadoop.run;

import java.io.IOException;

/**
 * Pairs that one map task handed over together: for each partition a stretch of records, sorted by key. A record is the
 * lengths of key and value as Hadoop's variable-length integers, the key, the value.
 *
 * <p>A run is immutable, and may be read any number of times until it is released.
 */
public interface Run {
    /**
     * The size of one partition's records.
     *
     * @param partition which
     * @return bytes; 0 if there are none
     */
    long bytes(int partition);

    /**
     * The size that one partition's records have on Hadoop, where no value is an object. Hadoop merges runs in the order of
     * these sizes, which decides in which order equal keys come.
     *
     * @param partition which
     * @return bytes
     */
    long wholeBytes(int partition);

    /**
     * How many records one partition has.
     *
     * @param partition which
     * @return their number
     */
    long records(int partition);

    /**
     * Starts to read one partition.
     *
     * @param partition which
     * @return a cursor before the first record
     * @throws IOException if the file cannot be opened
     */
    RunCursor open(int partition) throws IOException;

    /**
     * Returns whether it is in a file.
     *
     * @return false for one in memory
     */
    boolean onDisk();

    /** Gives up the memory or the file. */
    void release();
}
