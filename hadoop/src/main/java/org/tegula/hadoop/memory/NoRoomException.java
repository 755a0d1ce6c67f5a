package org.tegula.hadoop.memory;

import java.io.IOException;

/** Says that there is no room for more; what was written before stays. */
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
