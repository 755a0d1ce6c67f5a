package org.tegula.hadoop.collect;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import org.tegula.hadoop.run.Run;

/**
 * Takes the pairs that one map task emits and hands them on as sorted runs.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public interface Collector<K, V> extends Closeable {
    /**
     * Takes a pair; its objects may be changed afterwards. Several threads of a mapper may call it.
     *
     * @param key the key
     * @param value the value
     * @param partition where it goes
     * @throws IOException if it has the wrong type, or cannot be serialised or kept
     * @throws InterruptedException if the task is stopped
     */
    void collect(K key, V value, int partition) throws IOException, InterruptedException;

    /**
     * Ends the map task.
     *
     * @return all collected pairs; the caller releases the runs
     * @throws IOException if it cannot be combined or kept
     * @throws InterruptedException if the task is stopped
     */
    List<Run> finish() throws IOException, InterruptedException;

    /** Gives up the runs of a task that did not finish. */
    @Override
    void close();
}
