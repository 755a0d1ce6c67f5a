package org.tegula.hadoop.api;

/**
 * A mapper, reducer or map runner, of either interface, that changes neither the keys and values that it has emitted nor those
 * that it was handed. It may emit the latter. Then pairs need not be copied: each pair that it is handed has objects of its
 * own, those with large values go from map to reduce as objects, and pairs that it writes to sequence files are handed to later
 * jobs that make the same promise. A {@code MapRunnable} reads each record into objects that it makes. A subclass inherits the
 * promise. Hadoop ignores it.
 *
 * <p>Where the promise is broken, other tasks and jobs see the change.
 */
public interface ImmutableOutput {}
