package org.tegula.hadoop;

/** The names of what can be set in a job's or the site's configuration. */
public final class Settings {
    /** The value of {@code mapreduce.framework.name} that chooses this engine. */
    public static final String FRAMEWORK = "tegula";

    /** Whether jobs for the framework {@code local} are taken, too; false if it is not set. */
    public static final String CLAIM_LOCAL = "tegula.claim.local";

    /** How many tasks run at once, over all jobs of the JVM; read at its first job. All processors if it is not set. */
    public static final String WORKERS = "tegula.workers";

    /** How many mebibytes of the heap map output may take; read at the JVM's first job. Half of the heap if not set. */
    public static final String MEMORY_MB = "tegula.memory.mb";

    /**
     * How many mebibytes of the heap are for pairs and files that are kept from job to job; read at first use in the JVM.
     * A fourth of the heap if it is not set; 0 keeps nothing.
     */
    public static final String CACHE_MB = "tegula.cache.mb";

    /** Classes of input formats of a program's own whose pairs may be kept, beside those of Hadoop. None if not set. */
    public static final String CACHE_FORMATS = "tegula.cache.formats";

    private Settings() {}
}
