package org.tegula.hadoop.api;

/** Counters of the pairs that are kept from job to job. Splits that are never kept are not counted. */
public enum CacheCounter {
    /** Splits whose pairs were kept. */
    SPLITS_FOUND,
    /** Splits that were read and decoded. */
    SPLITS_READ
}
