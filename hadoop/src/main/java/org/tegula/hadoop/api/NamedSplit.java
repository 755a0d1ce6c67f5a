package org.tegula.hadoop.api;

/**
 * An input split that names its data, so that the pairs that a job reads from it may be kept for later jobs. Without it, only
 * splits of files are kept. Hadoop ignores it.
 */
public interface NamedSplit {
    /**
     * The name of the data.
     *
     * @return the same for splits with the same data, and never again the same if the data has changed
     */
    String getName();
}
