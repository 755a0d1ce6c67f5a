package org.tegula.hadoop.live;

import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.tegula.hadoop.memory.Room;

/**
 * The pairs of one job with large values that go from maps to reduces as the objects that they are; records have their
 * numbers. All tasks of the job use it at once, and no record takes a lock.
 *
 * <p>A number is given out once, and its pair is put in its place by the task that got it. Other tasks ask for it only
 * after that one has ended, which the job's stages see to.
 */
public final class LiveValues {
    /** The memory of a pair beside the contents of its objects, roughly. */
    private static final int PAIR_BYTES = 96;

    private static final int BLOCK_BITS = 10;
    private static final int BLOCK = 1 << BLOCK_BITS;

    private final Room room;
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicLong held = new AtomicLong();
    /** Only ever replaced by a longer one with the same blocks, or at the end. */
    private volatile Pair[][] blocks = new Pair[0][];

    private volatile boolean closed;

    /**
     * A key, a value, the serialised size of the value, and its room in the cache, if any. It counts here, too: an object that
     * the cache drops stays until the job has ended.
     *
     * @param key the key
     * @param value the value
     * @param bytes the serialised size of the value
     * @param kept the room of the value in the cache; null if it has none
     */
    public record Pair(Object key, Object value, int bytes, SharedRoom kept) {}

    /**
     * No pairs yet.
     *
     * @param room for all of them
     */
    public LiveValues(Room room) {
        this.room = room;
    }

    /**
     * Returns whether there is room at this moment.
     *
     * @param bytes of pairs
     * @return false if some of them would be refused
     */
    public boolean hasRoomFor(long bytes) {
        if (closed || !room.reserve(bytes)) {
            return false;
        }
        room.release(bytes);
        return true;
    }

    /**
     * Takes a pair whose value is new.
     *
     * @param pair that nobody changes any more
     * @param keyBytes the serialised size of its key
     * @return its number; -1 if there is no room for it
     */
    public int add(Pair pair, int keyBytes) {
        return take(pair, (long) keyBytes + pair.bytes);
    }

    /**
     * Takes another pair with the value of one that is there.
     *
     * @param key of the pair
     * @param keyBytes the serialised size of its key
     * @param number of the pair that is there
     * @return its number; -1 if there is no room for it
     * @throws IOException if the pairs are gone
     */
    public int addAgain(Object key, int keyBytes, int number) throws IOException {
        if (closed) {
            return -1;
        }
        Pair before = get(number);
        return take(new Pair(key, before.value, before.bytes, before.kept), keyBytes);
    }

    private int take(Pair pair, long bytes) {
        long needed = bytes + PAIR_BYTES;
        if (closed || count.get() > Integer.MAX_VALUE / 2 || !room.reserve(needed)) {
            return -1;
        }
        held.addAndGet(needed);
        if (closed) {
            giveBack(); // a task that was abandoned
            return -1;
        }
        int number = count.getAndIncrement();
        Pair[] block = block(number >> BLOCK_BITS);
        if (block == null) {
            return -1;
        }
        block[number & BLOCK - 1] = pair;
        return number;
    }

    private Pair[] block(int number) {
        Pair[][] there = blocks;
        return number < there.length ? there[number] : grow(number);
    }

    /** Null after the end: a block that is made then would have places without pairs for those who still ask. */
    private synchronized Pair[] grow(int number) {
        if (closed) {
            return null;
        }
        int length = blocks.length;
        if (number >= length) {
            Pair[][] longer = Arrays.copyOf(blocks, number + 1);
            for (int i = length; i <= number; i++) {
                longer[i] = new Pair[BLOCK];
            }
            blocks = longer;
        }
        return blocks[number];
    }

    /**
     * Returns a pair.
     *
     * @param number that was given out for it
     * @return the pair itself
     * @throws IOException if the pairs are gone: tasks that were abandoned, and places that still fetch, may ask then
     */
    public Pair get(int number) throws IOException {
        Pair[][] there = blocks;
        if (number >> BLOCK_BITS >= there.length) {
            throw new IOException("The job has ended, and its pairs are gone");
        }
        return there[number >> BLOCK_BITS][number & BLOCK - 1];
    }

    /** Lets go of all pairs: no task of the job runs any more. */
    public synchronized void release() {
        closed = true;
        giveBack();
        blocks = new Pair[0][];
    }

    private void giveBack() {
        room.release(held.getAndSet(0));
    }
}
