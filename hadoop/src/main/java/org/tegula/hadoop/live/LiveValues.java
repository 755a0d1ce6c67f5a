package org.tegula.hadoop.live;

import java.util.ArrayList;
import java.util.List;
import org.tegula.hadoop.memory.Room;

/** The large values of one job that go from maps to reduces as the objects that they are; records have their numbers. */
public final class LiveValues {
    /** What an object needs beside its contents, roughly. */
    private static final int OBJECT_BYTES = 96;

    private final Room room;
    private final List<Value> values = new ArrayList<>();
    private long held;
    private boolean closed;

    /** An object, and how many bytes it writes of itself. */
    record Value(Object object, int bytes) {}

    /**
     * No values yet.
     *
     * @param room for all of them
     */
    public LiveValues(Room room) {
        this.room = room;
    }

    /** Takes a value; -1 if there is no room for it. */
    synchronized int add(Object value, int bytes) {
        long needed = (long) bytes + OBJECT_BYTES;
        if (closed || values.size() == Integer.MAX_VALUE || !room.reserve(needed)) {
            return -1;
        }
        held += needed;
        values.add(new Value(value, bytes));
        return values.size() - 1;
    }

    synchronized Value get(int number) {
        return values.get(number);
    }

    /** Lets go of all values: no task of the job runs any more. */
    public synchronized void release() {
        closed = true;
        room.release(held);
        held = 0;
        values.clear();
    }
}
