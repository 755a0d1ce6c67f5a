package org.tegula.hadoop.api;

/** What jobs count of the pairs that are kept from job to job. Splits that are never kept are not counted. */
public enum CacheCounter {
    /** Splits of which the pairs were there. */
    SPLITS_FOUND,
    /** Splits that were read and decoded. */
    SPLITS_READ
}
