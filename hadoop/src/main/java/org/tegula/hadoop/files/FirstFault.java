package org.tegula.hadoop.files;

import java.io.IOException;

/** Lets what is done for one file fail without harm to what is done for the next: the first fault is thrown at the end. */
final class FirstFault {
    private Exception first;

    /** What may fail. */
    interface Step {
        void run() throws IOException;
    }

    /** Takes a step, and notes its fault. */
    void attempt(Step step) {
        try {
            step.run();
        } catch (IOException | RuntimeException e) {
            note(e);
        }
    }

    void note(Exception fault) {
        if (first == null) {
            first = fault;
        } else if (first != fault) {
            first.addSuppressed(fault);
        }
    }

    /** Throws the first fault, with the others in it, if there was any. */
    void rethrow() throws IOException {
        if (first instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        if (first != null) {
            throw (IOException) first;
        }
    }
}
