package org.tegula.hadoop.live;

/**
 * How many bytes the object writes of itself that a task was handed last, so that whoever takes it again, because the
 * program passes it on, need not have it written to find out. All parts of one task share it.
 */
public final class KnownSize {
    /** What is not known. */
    public static final int UNKNOWN = -1;

    private Object object;
    private int bytes = UNKNOWN;

    /** Of no object. */
    public KnownSize() {}

    /**
     * Notes an object that nobody changes any more.
     *
     * @param handed the object
     * @param size its bytes, or {@link #UNKNOWN}
     */
    public synchronized void set(Object handed, int size) {
        object = handed;
        bytes = size;
    }

    /**
     * The size of an object.
     *
     * @param asked the object
     * @return its bytes, or {@link #UNKNOWN}
     */
    public synchronized int of(Object asked) {
        return asked == object ? bytes : UNKNOWN;
    }
}
