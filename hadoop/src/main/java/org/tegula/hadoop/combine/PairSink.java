package org.tegula.hadoop.combine;

import java.io.IOException;

/**
 * Takes the pairs that a combiner emits.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
@FunctionalInterface
public interface PairSink<K, V> {
    /**
     * Takes a pair; its objects may be changed afterwards.
     *
     * @param key the key
     * @param value the value
     * @throws IOException if it cannot be serialised or kept
     */
    void accept(K key, V value) throws IOException;
}
