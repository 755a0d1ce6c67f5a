package org.tegula.hadoop.task;

import java.util.function.Supplier;

/**
 * Lets Hadoop look something up without a job's classes. The names for people of a group of counters are in a file beside the
 * class that it is named after, and Java searches all jars for that file again for each thread's loader: for each job, that is.
 */
final class ContextLoader {
    private ContextLoader() {}

    /** Asks with the loader that has made a class as the thread's own. */
    static <T> T of(Class<?> type, Supplier<T> asked) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(type.getClassLoader());
        try {
            return asked.get();
        } finally {
            thread.setContextClassLoader(before);
        }
    }
}
