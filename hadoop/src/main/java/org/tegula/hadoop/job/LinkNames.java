package org.tegula.hadoop.job;

import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Names in the working folder, which all jobs of a JVM share. A job that wants names which others have waits until those
 * have ended, else its tasks would find files of others under them.
 */
final class LinkNames {
    private static final long LOOK_MILLIS = 100;

    private static final Set<Path> TAKEN = new HashSet<>();

    private LinkNames() {}

    /** Takes all of the names at once, so that no two jobs wait for each other. */
    static void take(Collection<Path> names, BooleanSupplier stopped) throws InterruptedException {
        synchronized (TAKEN) {
            while (!Collections.disjoint(TAKEN, names)) {
                if (stopped.getAsBoolean()) {
                    throw new InterruptedException(
                            "The job was killed while it waited for names in the working folder");
                }
                TAKEN.wait(LOOK_MILLIS);
            }
            TAKEN.addAll(names);
        }
    }

    static void giveBack(List<Path> names) {
        synchronized (TAKEN) {
            names.forEach(TAKEN::remove);
            TAKEN.notifyAll();
        }
    }
}
