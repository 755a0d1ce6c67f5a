package org.tegula.hadoop.task;

/** Ends an attempt whose job or task was killed, from within whatever the attempt calls next. */
final class AttemptStopped extends RuntimeException {
    AttemptStopped() {
        super("The attempt was told to stop");
    }
}
