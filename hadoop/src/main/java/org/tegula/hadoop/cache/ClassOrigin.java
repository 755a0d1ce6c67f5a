package org.tegula.hadoop.cache;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * The origin of a class's code. Several jars may have classes of one name, and pairs decoded by one of them say nothing about
 * another; the same code that two jobs have each loaded for themselves is the same.
 */
public final class ClassOrigin {
    private static final String COMMON = "";

    private static final Map<ClassLoader, Origin> ORIGINS = new WeakHashMap<>();
    private static final AtomicInteger OTHERS = new AtomicInteger();

    /** Of one loader: a text that is made when it is first asked for, while other loaders are asked for theirs. */
    private static final class Origin {
        private final boolean isOfJob;
        private Supplier<String> fingerprint;
        private String text;

        Origin(boolean isOfJob, Supplier<String> fingerprint) {
            this.isOfJob = isOfJob;
            this.fingerprint = fingerprint;
        }

        synchronized String text() {
            if (text == null) {
                text = fingerprint.get();
                fingerprint = null;
            }
            return text;
        }
    }

    private ClassOrigin() {}

    /**
     * Makes a job's own loader known.
     *
     * @param loader that ends with its job
     * @param fingerprint of all that it can load; asked for at most once, while the job runs
     */
    public static synchronized void ofJob(ClassLoader loader, Supplier<String> fingerprint) {
        ORIGINS.put(loader, new Origin(true, fingerprint));
    }

    /**
     * Whether a class goes when a job ends.
     *
     * @param type any class
     * @return false if it may be used for longer
     */
    static synchronized boolean isOfJob(Class<?> type) {
        Origin origin = ORIGINS.get(type.getClassLoader());
        return origin != null && origin.isOfJob;
    }

    /**
     * A text that classes of one name have in common if their code is the same.
     *
     * @param type any class
     * @return an empty text for those of Java and of Hadoop
     */
    static String of(Class<?> type) {
        ClassLoader loader = type.getClassLoader();
        return loader == null || loader == ClassOrigin.class.getClassLoader()
                ? COMMON
                : origin(loader).text();
    }

    private static synchronized Origin origin(ClassLoader loader) {
        return ORIGINS.computeIfAbsent(loader, other -> new Origin(false, () -> "loader " + OTHERS.getAndIncrement()));
    }
}
