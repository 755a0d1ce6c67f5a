package org.tegula.hadoop.live;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.tegula.hadoop.memory.Room;

/**
 * The room of one large object that nobody changes any more, for all that keep it. Jobs that pass objects on leave the same
 * objects in one output after the other; they are in memory once, and so they count once. The room is given back when the last
 * holder releases it.
 */
public final class SharedRoom {
    /** Smaller objects are not worth it. */
    public static final int LARGE_BYTES = 256;

    private static final AtomicIntegerFieldUpdater<SharedRoom> HOLDERS =
            AtomicIntegerFieldUpdater.newUpdater(SharedRoom.class, "holders");

    private final Room room;
    private final int bytes;
    private volatile int holders = 1;

    private SharedRoom(Room room, int bytes) {
        this.room = room;
        this.bytes = bytes;
    }

    /**
     * Takes room for an object, and holds it.
     *
     * @param room where
     * @param bytes of the object
     * @return null if there is no room
     */
    public static SharedRoom reserve(Room room, int bytes) {
        return room.reserve(bytes) ? new SharedRoom(room.whole(), bytes) : null;
    }

    /**
     * Holds it for one more who keeps the object.
     *
     * @param wanted where the object is to count
     * @return false if it counts elsewhere, or nowhere any more
     */
    public boolean hold(Room wanted) {
        if (room != wanted.whole()) {
            return false;
        }
        for (int now = holders; now > 0; now = holders) {
            if (HOLDERS.compareAndSet(this, now, now + 1)) {
                return true;
            }
        }
        return false;
    }

    /** Ends one hold. */
    public void letGo() {
        if (HOLDERS.decrementAndGet(this) == 0) {
            room.release(bytes);
        }
    }
}
