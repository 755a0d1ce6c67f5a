package org.tegula.hadoop.cache;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Supplier;

/**
 * Where the code of a class comes from. Classes of one name may be of several jars, and what one of them has decoded says
 * nothing about another; the same code that two jobs have each loaded for themselves is the same.
 */
public final class ClassOrigin {
    private static final String COMMON = "";

    private static final Map<ClassLoader, String> NAMES = new WeakHashMap<>();
    private static final Map<ClassLoader, Supplier<String>> OF_JOBS = new WeakHashMap<>();
    private static int others;

    private ClassOrigin() {}

    /**
     * Makes a job's own loader known.
     *
     * @param loader that ends with its job
     * @param fingerprint of all that it can load; asked for at most once, while the job runs
     */
    public static synchronized void ofJob(ClassLoader loader, Supplier<String> fingerprint) {
        OF_JOBS.put(loader, fingerprint);
    }

    /**
     * Whether a class goes when a job ends.
     *
     * @param type any class
     * @return false if it may be used for longer
     */
    static synchronized boolean isOfJob(Class<?> type) {
        return OF_JOBS.containsKey(type.getClassLoader());
    }

    /**
     * A text that classes of one name have in common if their code is the same.
     *
     * @param type any class
     * @return an empty text for those of Java and of Hadoop
     */
    static synchronized String of(Class<?> type) {
        ClassLoader loader = type.getClassLoader();
        if (loader == null || loader == ClassOrigin.class.getClassLoader()) {
            return COMMON;
        }
        String name = NAMES.get(loader);
        if (name == null) {
            Supplier<String> fingerprint = OF_JOBS.get(loader);
            name = fingerprint == null ? "loader " + others++ : fingerprint.get();
            NAMES.put(loader, name);
        }
        return name;
    }
}
