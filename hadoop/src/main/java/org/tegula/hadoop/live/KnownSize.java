package org.tegula.hadoop.live;

/**
 * The serialised size of the object that a task was handed last. A program often passes the object on, and then it need not be
 * serialised to know its size. Also holds the object's room, if it is kept. All parts of one task share it.
 */
public final class KnownSize {
    /** An unknown size. */
    public static final int UNKNOWN = -1;

    private static final Known NOTHING = new Known(null, UNKNOWN, null);

    /** The size of an object never changes, so threads need not agree on which one was the last. */
    private Known last = NOTHING;

    private record Known(Object object, int bytes, SharedRoom room) {}

    /** Of no object. */
    public KnownSize() {}

    /**
     * Notes an object that nobody changes any more.
     *
     * @param handed the object
     * @param size its bytes, or {@link #UNKNOWN}
     * @param room that it has; null if it has none of its own
     */
    public void set(Object handed, int size, SharedRoom room) {
        last = new Known(handed, size, room);
    }

    /**
     * The size of an object.
     *
     * @param asked the object
     * @return its bytes, or {@link #UNKNOWN}
     */
    public int of(Object asked) {
        Known known = last;
        return asked == known.object ? known.bytes : UNKNOWN;
    }

    /**
     * The room of an object.
     *
     * @param asked the object
     * @return null if it has none, or it is not known
     */
    public SharedRoom roomOf(Object asked) {
        Known known = last;
        return asked == known.object ? known.room : null;
    }
}
