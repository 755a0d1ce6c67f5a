package org.tegula.hadoop.api;

/** What the pairs between maps and reduces did, in an engine of several places; see also {@link CacheCounter}. */
public enum PlaceCounter {
    /** Pairs that were reduced at the place where they were mapped. */
    PAIRS_STAYED,

    /** Pairs that were sent from one place to another. */
    PAIRS_MOVED,

    /** Those of the pairs sent whose value was at the other place already, and was not sent again. */
    PAIRS_SHARED,

    /** Bytes of the pairs sent, as they crossed. */
    BYTES_MOVED
}
