package org.tegula.hadoop.cache;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.hadoop.conf.Configuration;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.memory.Room;

/**
 * Decoded pairs of files that jobs have read or written, over all jobs of a JVM. All of it can be dropped: {@link Segments}
 * decide which pairs go when room is needed, and pairs of an older version of their file go when they are looked for.
 */
public final class PairCache implements Room {
    /** The slot of pairs that are not there. */
    static final int NO_HOME = -1;

    private static final int SHARE_OF_HEAP = 4;
    private static final int MOST_ELSEWHERE = 100_000;

    private static PairCache shared;

    private final MemoryBudget budget;
    private final Segments entries;
    /** The slots of pairs that caches of other JVMs have, as far as is known; those kept longest go first. */
    private final Map<BlockKey, Integer> elsewhere = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<BlockKey, Integer> eldest) {
            return size() > MOST_ELSEWHERE;
        }
    };

    private final List<Listener> listeners = new CopyOnWriteArrayList<>();
    private long hits;
    private long misses;

    /**
     * A cache of its own.
     *
     * @param limitBytes how much it may hold
     */
    public PairCache(long limitBytes) {
        budget = new MemoryBudget(limitBytes);
        entries = new Segments(limitBytes);
    }

    /**
     * The cache of this JVM, which is made at first use.
     *
     * @param conf sets its size, the first time
     * @return the cache
     */
    public static synchronized PairCache shared(Configuration conf) {
        if (shared == null) {
            long share = Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP;
            shared = new PairCache(Math.max(0, conf.getLong(Settings.CACHE_MB, share >> 20)) << 20);
        }
        return shared;
    }

    /**
     * Whether anything can be kept.
     *
     * @return false if its size was set to nothing
     */
    public boolean isOn() {
        return budget.limitBytes() > 0;
    }

    /**
     * Pairs of a part of a file.
     *
     * @param key which part, decoded by what
     * @param version of the file as it is now
     * @param conf of the job that wants them
     * @return null if they are not there, or are of other contents or settings
     */
    public PairBlock find(BlockKey key, FileVersion version, Configuration conf) {
        Segments.Entry entry = current(key, version);
        // Without the lock: classes may have to be loaded for it, and jars to be read.
        boolean fits = entry != null && entry.settings.areIn(conf) && entry.block.isReadableWith(conf);
        synchronized (this) {
            if (!fits) {
                entries.miss(key);
                misses++;
                return null;
            }
            hits++;
            if (entries.get(key) == entry) {
                entries.use(key);
            }
        }
        return entry.block;
    }

    private synchronized Segments.Entry current(BlockKey key, FileVersion version) {
        Segments.Entry entry = entries.get(key);
        if (entry != null && !entry.version.equals(version)) {
            remove(key);
            return null;
        }
        return entry;
    }

    /**
     * Returns the room for pairs that were not found and are read now. Pairs that are used more often do not go for them.
     *
     * @param key which they are
     * @return a part of this
     */
    synchronized Room roomFor(BlockKey key) {
        return new ReadRoom(entries.askedBefore(key));
    }

    /** Room that is taken from blocks alone that were not used since a time. */
    private final class ReadRoom implements Room {
        private final long before;

        ReadRoom(long before) {
            this.before = before;
        }

        @Override
        public boolean reserve(long bytes) {
            return PairCache.this.reserve(bytes, before);
        }

        @Override
        public void release(long bytes) {
            PairCache.this.release(bytes);
        }

        @Override
        public Room whole() {
            return PairCache.this;
        }
    }

    /**
     * All pairs of a file, as one format has decoded them.
     *
     * @param user who may read them
     * @param name of the file, with its file system
     * @param version of the file as it is now
     * @param conf of the reader
     * @return blocks in the order of the file; none unless they are of the whole file
     */
    public List<PairBlock> findAll(String user, String name, FileVersion version, Configuration conf) {
        Map<String, TreeMap<Long, BlockKey>> byFormat = new HashMap<>();
        for (BlockKey key : keysUnder(name)) {
            if (key.user().equals(user) && key.name().equals(name)) {
                byFormat.computeIfAbsent(key.format(), format -> new TreeMap<>())
                        .put(key.start(), key);
            }
        }
        for (TreeMap<Long, BlockKey> parts : byFormat.values()) {
            List<PairBlock> blocks = whole(parts.values(), version, conf);
            if (!blocks.isEmpty()) {
                return blocks;
            }
        }
        return List.of();
    }

    private List<PairBlock> whole(Iterable<BlockKey> parts, FileVersion version, Configuration conf) {
        List<PairBlock> blocks = new ArrayList<>();
        long end = 0;
        for (BlockKey key : parts) {
            PairBlock block = key.start() == end ? find(key, version, conf) : null;
            if (block == null) {
                return List.of();
            }
            blocks.add(block);
            end += key.length();
        }
        return end == version.length() ? blocks : List.of();
    }

    /**
     * Whether any pairs are kept of a file, or of the files of a folder; they may be of a version that is gone.
     *
     * @param place its name, with its file system
     * @return false if there are none
     */
    public synchronized boolean holds(String place) {
        return !entries.under(place).isEmpty();
    }

    /**
     * Keeps pairs from now on.
     *
     * @param key which they are
     * @param block the pairs, which the cache owns from now on
     * @param version of the file that they come from
     * @param settings with which they were decoded
     * @param home the slot where they are
     */
    public synchronized void put(BlockKey key, PairBlock block, FileVersion version, ReadSettings settings, int home) {
        remove(key);
        entries.put(key, new Segments.Entry(block, version, settings, home));
        listeners.forEach(each -> each.kept(key, home));
    }

    /** Is told of changes, so that the caches of several JVMs know of each other. It is called under the cache's lock. */
    public interface Listener {
        /**
         * Pairs are kept from now on.
         *
         * @param key which
         * @param home the slot where they are
         */
        default void kept(BlockKey key, int home) {}

        /**
         * All pairs of a path were dropped, of which other JVMs had some.
         *
         * @param path its name, with its file system; empty for all paths
         */
        default void forgotten(String path) {}

        /**
         * A path was renamed of which other JVMs have pairs.
         *
         * @param from the name that it had
         * @param to the name that it has
         */
        default void renamed(String from, String to) {}
    }

    /**
     * Tells someone of all changes from now on.
     *
     * @param listener that is told
     */
    public void listen(Listener listener) {
        listeners.add(listener);
    }

    /**
     * Tells someone no more.
     *
     * @param listener that was told
     */
    public void ignore(Listener listener) {
        listeners.remove(listener);
    }

    /**
     * Notes that the cache of another JVM has pairs.
     *
     * @param key which
     * @param home the slot where they are
     */
    public synchronized void keptElsewhere(BlockKey key, int home) {
        elsewhere.remove(key);
        elsewhere.put(key, home);
    }

    /**
     * Forgets what other JVMs have kept in some slots.
     *
     * @param from the first slot
     * @param end the slot after the last
     */
    public synchronized void lostElsewhere(int from, int end) {
        elsewhere.values().removeIf(home -> home >= from && home < end);
    }

    /** Where pairs are, whatever their version; {@link #NO_HOME} if there are none. */
    synchronized int home(BlockKey key) {
        Segments.Entry entry = entries.get(key);
        return entry == null ? elsewhere.getOrDefault(key, NO_HOME) : entry.home;
    }

    /**
     * Whether nothing is kept.
     *
     * @return false if there are any pairs
     */
    public synchronized boolean isEmpty() {
        return entries.isEmpty() && elsewhere.isEmpty();
    }

    private void remove(BlockKey key) {
        Segments.Entry entry = entries.remove(key);
        if (entry != null) {
            entry.block.release();
        }
    }

    /** Finds the version of a file under its new name. */
    public interface Versions {
        /**
         * Looks at a file.
         *
         * @param name of the file, with its file system
         * @return null if there is none
         */
        FileVersion of(String name);
    }

    /**
     * Follows a file or folder to its new name.
     *
     * @param from the name that it had, with its file system
     * @param to the name that it has
     * @param versions of the files under the new name
     */
    public void renamed(String from, String to, Versions versions) {
        forget(to);
        renamedElsewhere(from, to);
        for (BlockKey key : keysUnder(from)) {
            BlockKey moved = key.moved(from, to);
            rename(key, moved, versions.of(moved.name())); // without the lock: a file system is asked
        }
    }

    private synchronized void renamedElsewhere(String from, String to) {
        List<BlockKey> others = elsewhereUnder(from);
        if (!others.isEmpty()) {
            others.forEach(key -> elsewhere.put(key.moved(from, to), elsewhere.remove(key)));
            listeners.forEach(each -> each.renamed(from, to));
        }
    }

    private List<BlockKey> elsewhereUnder(String place) {
        return elsewhere.keySet().stream()
                .filter(key -> key.name().equals(place) || key.name().startsWith(place + "/"))
                .toList();
    }

    private synchronized void rename(BlockKey key, BlockKey moved, FileVersion now) {
        Segments.Entry entry = entries.remove(key);
        if (entry == null) {
            return;
        }
        if (now != null && now.sameContents(entry.version)) {
            remove(moved);
            entries.put(moved, entry.of(now));
        } else {
            entry.block.release();
        }
    }

    /**
     * Drops all pairs of a file, or of all files of a folder.
     *
     * @param place its name, with its file system
     */
    public synchronized void forget(String place) {
        entries.under(place).forEach(this::remove);
        List<BlockKey> others = elsewhereUnder(place);
        if (!others.isEmpty()) {
            others.forEach(elsewhere::remove);
            listeners.forEach(each -> each.forgotten(place));
        }
    }

    private synchronized List<BlockKey> keysUnder(String place) {
        return entries.under(place);
    }

    @Override
    public boolean reserve(long bytes) {
        return reserve(bytes, Segments.ALWAYS);
    }

    private synchronized boolean reserve(long bytes, long before) {
        while (!budget.reserve(bytes)) {
            Segments.Entry first = bytes > budget.limitBytes() ? null : entries.takeFirst(before);
            if (first == null) {
                return false;
            }
            first.block.release();
        }
        return true;
    }

    @Override
    public void release(long bytes) {
        budget.release(bytes);
    }

    /**
     * How often pairs were found.
     *
     * @return the number of splits
     */
    public synchronized long hits() {
        return hits;
    }

    /**
     * How often pairs were looked for in vain.
     *
     * @return the number of splits
     */
    public synchronized long misses() {
        return misses;
    }

    /**
     * How much may be held.
     *
     * @return bytes
     */
    public long limitBytes() {
        return budget.limitBytes();
    }

    /**
     * How much is held at this moment.
     *
     * @return bytes
     */
    public long usedBytes() {
        return budget.usedBytes();
    }

    /**
     * The kept pairs of a file.
     *
     * @param user who may read it
     * @param name of the file, with its file system
     * @param pairs how many
     * @param bytes that they take
     */
    public record Kept(String user, String name, long pairs, long bytes) {
        Kept plus(Kept other) {
            return new Kept(user, name, pairs + other.pairs, bytes + other.bytes);
        }
    }

    /**
     * Returns all kept pairs, the first to be dropped first.
     *
     * @return an entry for each file and user
     */
    public synchronized List<Kept> kept() {
        Map<List<String>, Kept> files = new LinkedHashMap<>();
        entries.forEach((key, entry) -> files.merge(
                List.of(key.user(), key.name()),
                new Kept(key.user(), key.name(), entry.block.pairs(), entry.block.heldBytes()),
                Kept::plus));
        return new ArrayList<>(files.values());
    }

    /** Drops all pairs. */
    public synchronized void clear() {
        entries.forEach((key, entry) -> entry.block.release());
        entries.clear();
        elsewhere.clear();
        listeners.forEach(each -> each.forgotten(""));
    }
}
