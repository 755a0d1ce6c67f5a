package org.tegula.hadoop.collect;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Does some of a task's work in a slot that nobody needs, so that a split that cannot be cut keeps more than one core busy.
 * It is given the engine's own data alone, and ends by itself: a program's code runs in the thread of its task. One thread uses
 * it, and sees its results after {@link #await}.
 */
final class Helper {
    private final SpareSlots slots;
    private FutureTask<Void> work;

    Helper(SpareSlots slots) {
        this.slots = slots;
    }

    /** Begins something, once the work before has ended; false if no slot is free for it. */
    boolean begin(Callable<Void> next) throws IOException, InterruptedException {
        await();
        FutureTask<Void> begun = new FutureTask<>(next);
        if (!slots.begin(begun)) {
            return false;
        }
        work = begun;
        return true;
    }

    /** Waits until the work has ended, and throws its exception. */
    void await() throws IOException, InterruptedException {
        if (work == null) {
            return;
        }
        try {
            work.get();
            work = null;
        } catch (ExecutionException e) {
            work = null;
            if (e.getCause() instanceof IOException cause) {
                throw new IOException(cause.getMessage(), cause);
            }
            if (e.getCause() instanceof Error cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        }
    }

    /** Waits until the work has ended, and ignores its result. */
    void abandon() {
        boolean interrupted = false;
        while (work != null) {
            try {
                work.get();
                work = null;
            } catch (ExecutionException e) {
                work = null;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
