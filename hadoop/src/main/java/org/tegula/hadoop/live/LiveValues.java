package org.tegula.hadoop.live;

import java.util.ArrayList;
import java.util.List;
import org.tegula.hadoop.memory.Room;

/**
 * The pairs of one job with large values that go from maps to reduces as the objects that they are; records have their
 * numbers.
 */
public final class LiveValues {
    /** What a pair needs beside the contents of its objects, roughly. */
    private static final int PAIR_BYTES = 96;

    private final Room room;
    private final List<Pair> pairs = new ArrayList<>();
    private long held;
    private boolean closed;

    /**
     * A key, a value, how many bytes the value writes of itself, and the room that it has in the cache, if any. It counts here,
     * too: what the cache drops stays until the job has ended.
     */
    record Pair(Object key, Object value, int bytes, SharedRoom kept) {}

    /**
     * No pairs yet.
     *
     * @param room for all of them
     */
    public LiveValues(Room room) {
        this.room = room;
    }

    /** Takes a pair whose value is new; -1 if there is no room for it. */
    int add(Pair pair, int keyBytes) {
        return take(pair, (long) keyBytes + pair.bytes);
    }

    /** Takes another pair with the value of one that is there; -1 if there is no room for it. */
    synchronized int addAgain(Object key, int keyBytes, int number) {
        if (closed) {
            return -1;
        }
        Pair before = pairs.get(number);
        return take(new Pair(key, before.value, before.bytes, before.kept), keyBytes);
    }

    private synchronized int take(Pair pair, long bytes) {
        long needed = bytes + PAIR_BYTES;
        if (closed || pairs.size() == Integer.MAX_VALUE || !room.reserve(needed)) {
            return -1;
        }
        held += needed;
        pairs.add(pair);
        return pairs.size() - 1;
    }

    synchronized Pair get(int number) {
        return pairs.get(number);
    }

    /** Lets go of all pairs: no task of the job runs any more. */
    public synchronized void release() {
        closed = true;
        room.release(held);
        held = 0;
        pairs.clear();
    }
}
