package org.tegula.hadoop.memory;

import java.io.IOException;

/** There is no room for more bytes; the bytes written before stay. */
public final class NoRoomException extends IOException {
    /**
     * A refusal.
     *
     * @param bytes that were asked for
     */
    public NoRoomException(long bytes) {
        super("There is no room for " + bytes + " bytes more");
    }
}
