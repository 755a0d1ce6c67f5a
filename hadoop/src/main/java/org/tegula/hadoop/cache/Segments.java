package org.tegula.hadoop.cache;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * The order in which blocks are dropped. It is the rule of LIRS (Jiang and Zhang, SIGMETRICS 2002) in its simplest form,
 * because inputs are read from end to end: with the least recently used first, one scan longer than the cache drops all blocks,
 * and finds none of its own when it is repeated.
 *
 * <p>A block that was asked for once is fresh, one that was asked for again is proven. Fresh ones go first. Proven ones have
 * most of the room, but not all. A newcomer displaces a proven one only if it was asked for twice since that one was used. So a
 * scan, however often it is repeated, displaces no block that is used in each round, while unused blocks give way to the second
 * reading of other data. For this, dropped blocks are remembered by their keys.
 *
 * <p>The cache's lock guards it.
 */
final class Segments {
    /** A time before all others. */
    static final long NEVER = 0;
    /** A time after all others. */
    static final long ALWAYS = Long.MAX_VALUE;

    private static final int MOST_ASKED = 1 << 14;

    private final long mostProvenBytes;
    private final Map<BlockKey, Entry> fresh = new LinkedHashMap<>();
    private final Map<BlockKey, Entry> proven = new LinkedHashMap<>();
    /** The keys of all blocks by the names of their files, for those who delete or rename files and folders. */
    private final TreeMap<String, Set<BlockKey>> ofFiles = new TreeMap<>();

    private final Map<BlockKey, Asked> asked = new LinkedHashMap<>();
    private long provenBytes;
    private long clock;

    /** When a block that is not there was last asked for, and when before that. */
    private record Asked(long before, long last) {}

    /** A block, when it is right, and the slot that has made it. */
    static final class Entry {
        final PairBlock block;
        final FileVersion version;
        final ReadSettings settings;
        final int home;
        private long usedAt;
        private long provenBytes;

        Entry(PairBlock block, FileVersion version, ReadSettings settings, int home) {
            this.block = block;
            this.version = version;
            this.settings = settings;
            this.home = home;
        }

        /** The same pairs of another version of their file. */
        Entry of(FileVersion other) {
            return new Entry(block, other, settings, home);
        }
    }

    /**
     * @param limitBytes of the cache
     */
    Segments(long limitBytes) {
        mostProvenBytes = limitBytes / 4 * 3;
    }

    /** The block of a key, which is not used by this; null if there is none. */
    Entry get(BlockKey key) {
        Entry entry = fresh.get(key);
        return entry == null ? proven.get(key) : entry;
    }

    /** Notes that the block of a key is used. */
    void use(BlockKey key) {
        Entry entry = proven.remove(key);
        if (entry != null) {
            proven.put(key, entry);
        } else {
            entry = fresh.remove(key);
            place(key, entry, entry.usedAt);
        }
        entry.usedAt = ++clock;
    }

    /** Notes that a block was asked for which is not there, or not right. */
    void miss(BlockKey key) {
        Asked before = asked.get(key);
        remember(key, new Asked(before == null ? NEVER : before.last, ++clock));
    }

    private void remember(BlockKey key, Asked when) {
        asked.remove(key); // so that it comes last
        asked.put(key, when);
        if (asked.size() > MOST_ASKED) {
            asked.remove(asked.keySet().iterator().next());
        }
    }

    /** When the block of a key that is missed now was asked for before that; {@link #NEVER} if it was not. */
    long askedBefore(BlockKey key) {
        Asked found = asked.get(key);
        return found == null ? NEVER : found.before;
    }

    /** Adds the block of a key that has none. */
    void put(BlockKey key, Entry entry) {
        long before = askedBefore(key);
        asked.remove(key);
        ofFiles.computeIfAbsent(key.name(), name -> new HashSet<>()).add(key);
        place(key, entry, before);
        entry.usedAt = ++clock;
    }

    /** Among the proven ones if it was used before, and there is room, or others were not used since; else among the fresh ones. */
    private void place(BlockKey key, Entry entry, long before) {
        long bytes = before == NEVER ? 0 : entry.block.heldBytes();
        boolean fits = before != NEVER && bytes <= mostProvenBytes;
        while (fits && provenBytes + bytes > mostProvenBytes) {
            fits = demoteOldest(before);
        }
        if (fits) {
            entry.provenBytes = bytes;
            provenBytes += bytes;
            proven.put(key, entry);
        } else {
            fresh.put(key, entry);
        }
    }

    private boolean demoteOldest(long before) {
        Map.Entry<BlockKey, Entry> oldest = proven.entrySet().iterator().next();
        if (oldest.getValue().usedAt >= before) {
            return false;
        }
        BlockKey key = oldest.getKey();
        fresh.put(key, take(key));
        return true;
    }

    /** Takes a block out; null if there is none. */
    Entry remove(BlockKey key) {
        Entry entry = take(key);
        Set<BlockKey> ofFile = entry == null ? null : ofFiles.get(key.name());
        if (ofFile != null && ofFile.remove(key) && ofFile.isEmpty()) {
            ofFiles.remove(key.name());
        }
        return entry;
    }

    private Entry take(BlockKey key) {
        Entry entry = fresh.remove(key);
        if (entry == null) {
            entry = proven.remove(key);
            if (entry != null) {
                provenBytes -= entry.provenBytes;
            }
        }
        return entry;
    }

    /**
     * Takes out the block that is to go first.
     *
     * @param before only fresh blocks, and proven ones that were last used before this time
     * @return null if there is none
     */
    Entry takeFirst(long before) {
        Iterator<Map.Entry<BlockKey, Entry>> first =
                (fresh.isEmpty() ? proven : fresh).entrySet().iterator();
        if (!first.hasNext()) {
            return null;
        }
        Map.Entry<BlockKey, Entry> found = first.next();
        if (fresh.isEmpty() && found.getValue().usedAt >= before) {
            return null;
        }
        BlockKey key = found.getKey();
        Entry entry = remove(key);
        remember(key, new Asked(NEVER, entry.usedAt));
        return entry;
    }

    /** The keys of the blocks of a file, or of all files of a folder. */
    List<BlockKey> under(String place) {
        List<BlockKey> keys = new ArrayList<>(ofFiles.getOrDefault(place, Set.of()));
        ofFiles.subMap(place + '/', place + (char) ('/' + 1)).values().forEach(keys::addAll);
        return keys;
    }

    boolean isEmpty() {
        return fresh.isEmpty() && proven.isEmpty();
    }

    /** Passes on all blocks, those first that go first. */
    void forEach(BiConsumer<BlockKey, Entry> taker) {
        fresh.forEach(taker);
        proven.forEach(taker);
    }

    void clear() {
        fresh.clear();
        proven.clear();
        ofFiles.clear();
        provenBytes = 0;
    }
}
