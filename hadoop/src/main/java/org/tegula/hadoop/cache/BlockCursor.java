package org.tegula.hadoop.cache;

import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.live.KnownSize;
import org.tegula.hadoop.live.SharedRoom;

/** Goes through the pairs of a block. One thread uses it. */
public interface BlockCursor {
    /**
     * Advances to the next pair.
     *
     * @return false if there is none
     */
    boolean next();

    /**
     * The key of the pair; it is asked for once, before the value.
     *
     * @param into is filled; null for an object that the caller promises not to change
     * @return the key
     * @throws IOException if it cannot be decoded
     */
    Writable key(Writable into) throws IOException;

    /**
     * The value of the pair; it is asked for once.
     *
     * @param into is filled; null for an object that the caller promises not to change
     * @return the value
     * @throws IOException if it cannot be decoded
     */
    Writable value(Writable into) throws IOException;

    /**
     * How many bytes the value writes of itself.
     *
     * @return their number, or {@link org.tegula.hadoop.live.KnownSize#UNKNOWN}
     */
    default int valueBytes() {
        return KnownSize.UNKNOWN;
    }

    /**
     * The room that the value has.
     *
     * @return null if it has none of its own
     */
    default SharedRoom valueRoom() {
        return null;
    }
}
