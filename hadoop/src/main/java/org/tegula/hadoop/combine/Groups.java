package org.tegula.hadoop.combine;

import java.io.IOException;

/** Serialised pairs in groups, as a combiner sees them. All of a group stays in memory while it is read. */
public interface Groups {
    /**
     * Goes to the next group, before its first pair.
     *
     * @return false if there is none
     * @throws IOException if combined pairs cannot be kept
     */
    boolean nextGroup() throws IOException;

    /**
     * Goes to the next pair of the group.
     *
     * @return false if there is none
     */
    boolean nextPair();

    /**
     * Whether the group has another pair.
     *
     * @return whether {@link #nextPair} would go on
     */
    boolean hasPair();

    /**
     * Points a buffer at the pair's key.
     *
     * @param buffer to be read from
     */
    void key(BytesIn buffer);

    /**
     * Points a buffer at the pair's value.
     *
     * @param buffer to be read from
     */
    void value(BytesIn buffer);

    /**
     * Whether all pairs of a group have one key.
     *
     * @return false if keys only compare equal
     */
    boolean sameKeys();

    /**
     * The place of the present pair.
     *
     * @return something for {@link #seek}
     */
    long position();

    /**
     * Goes back to a pair of the present group.
     *
     * @param position its place
     */
    void seek(long position);
}
