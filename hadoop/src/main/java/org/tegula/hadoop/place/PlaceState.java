package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import org.tegula.hadoop.cache.PairCache;

/**
 * What the JVM of a place has in memory, as it was last heard.
 *
 * @param heapBytes in use
 * @param heapLimitBytes the most that it may have
 * @param cachedBytes of the cache
 * @param cacheLimitBytes the most that the cache may have
 * @param hits how often pairs were found in the cache
 * @param misses how often they were not
 */
public record PlaceState(
        long heapBytes, long heapLimitBytes, long cachedBytes, long cacheLimitBytes, long hits, long misses) {
    static final PlaceState UNKNOWN = new PlaceState(0, 0, 0, 0, 0, 0);

    /** Of this JVM. */
    static PlaceState now(PairCache cache) {
        Runtime jvm = Runtime.getRuntime();
        return new PlaceState(
                jvm.totalMemory() - jvm.freeMemory(),
                jvm.maxMemory(),
                cache.usedBytes(),
                cache.limitBytes(),
                cache.hits(),
                cache.misses());
    }

    void write(DataOutput out) throws IOException {
        for (long each : new long[] {heapBytes, heapLimitBytes, cachedBytes, cacheLimitBytes, hits, misses}) {
            out.writeLong(each);
        }
    }

    static PlaceState read(Message in) throws IOException {
        return new PlaceState(in.readLong(), in.readLong(), in.readLong(), in.readLong(), in.readLong(), in.readLong());
    }
}
