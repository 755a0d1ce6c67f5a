package org.tegula.hadoop.memory;

/** Where bytes of the heap are asked for before they are taken. */
public interface Room {
    /**
     * Takes bytes, if there is room for all of them.
     *
     * @param bytes how many
     * @return whether they were taken
     */
    boolean reserve(long bytes);

    /**
     * Gives reserved bytes back.
     *
     * @param bytes how many
     */
    void release(long bytes);

    /**
     * The room that this is a part of.
     *
     * @return this, if it is no part
     */
    default Room whole() {
        return this;
    }
}
