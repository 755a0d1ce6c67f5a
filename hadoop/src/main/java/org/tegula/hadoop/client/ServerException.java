package org.tegula.hadoop.client;

import java.io.IOException;

/** The reason why a server cannot be reached, and the remedy, in words for a person. */
public class ServerException extends IOException {
    private static final long serialVersionUID = 1;

    ServerException(String message, Throwable cause) {
        super(message, cause);
    }

    /**
     * Ends the process of a command if this is why it has failed: with one line instead of a stack trace.
     *
     * @param thrown by the command
     */
    public static void endWith(Throwable thrown) {
        for (Throwable each = thrown; each != null; each = each.getCause()) {
            if (each instanceof ServerException) {
                System.err.println("tegula-hadoop: " + each.getMessage());
                System.exit(1);
            }
        }
    }

    /** There is no server any more, or never was: its data in memory is on the disk. */
    public static final class Gone extends ServerException {
        private static final long serialVersionUID = 1;

        Gone(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
