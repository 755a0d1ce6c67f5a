package org.tegula.hadoop.wire;

import java.io.IOException;

/** Gives bytes to a reader of what another process has written, and fails where the answer is not what it must be. */
public interface Target {
    /**
     * Reads bytes.
     *
     * @param bytes any
     * @throws IOException if the reader refuses them
     */
    void read(byte[] bytes) throws IOException;

    /** Whether classes of Hadoop's read a length in the bytes, and make what is so long before they read on. */
    default boolean believesLengths() {
        return false;
    }
}
