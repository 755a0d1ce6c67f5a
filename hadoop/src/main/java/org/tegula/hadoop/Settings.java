package org.tegula.hadoop;

import org.apache.hadoop.conf.Configuration;

/** The names of the settings in a job's or the site's configuration. */
public final class Settings {
    /** The value of {@code mapreduce.framework.name} that chooses this engine. */
    public static final String FRAMEWORK = "tegula";

    /** Whether jobs for the framework {@code local} are taken, too; false if it is not set. */
    public static final String CLAIM_LOCAL = "tegula.claim.local";

    /** How many tasks run at once, over all jobs of the JVM; read at its first job. All processors if it is not set. */
    public static final String WORKERS = "tegula.workers";

    /**
     * Where tasks run; read at the JVM's first job. In this JVM as a whole if it is not set; {@code jvm:4} for four places that
     * are JVMs of their own on this machine; {@code local:4} for four places in this JVM, which is for tests.
     */
    public static final String PLACES = "tegula.places";

    /** More options for the JVMs of {@code jvm:4}, such as {@code -Xmx8g}. By default they share the heap of this JVM. */
    public static final String PLACES_JAVA_OPTS = "tegula.places.java.opts";

    /** The address at which the places connect to the driver; the loopback address if it is not set. */
    public static final String PLACES_HOST = "tegula.places.host";

    /** After how many seconds a place that is not heard of counts as lost. */
    public static final String PLACES_LEASE_SECONDS = "tegula.places.lease.seconds";

    /** The seconds if none are set. */
    public static final int PLACES_LEASE_SECONDS_DEFAULT = 30;

    /** How often a job is run again, from its input files, after a place was lost. 0 if it is not set: it fails. */
    public static final String PLACES_RERUNS = "tegula.places.reruns";

    /**
     * Whether a job loads anew those classes of its jars that are also on the JVM's class path, so that no static state is left
     * by an earlier job; not if its settings name classes that the JVM alone has. If it is not set: at places and in a server,
     * not in a program's own JVM.
     */
    public static final String CLASSES_APART = "tegula.classes.apart";

    /** How many mebibytes of the heap map output may take; read at the JVM's first job. Half of the heap if not set. */
    public static final String MEMORY_MB = "tegula.memory.mb";

    /**
     * How many mebibytes of the heap are for pairs and files that are kept from job to job; read at first use in the JVM.
     * A fourth of the heap if it is not set; 0 keeps nothing.
     */
    public static final String CACHE_MB = "tegula.cache.mb";

    /** Classes of input formats of a program's own whose pairs may be kept, beside those of Hadoop. None if not set. */
    public static final String CACHE_FORMATS = "tegula.cache.formats";

    /**
     * The prefix of names of outputs that are kept in memory alone: {@code temp} if it is not set, {@code none} for none. Such
     * a name is the prefix alone, or no letter or digit follows the prefix.
     */
    public static final String TEMPORARY_PREFIX = "tegula.temporary.prefix";

    /** The prefix if none is set. */
    public static final String TEMPORARY_PREFIX_DEFAULT = "temp";

    /** The prefix that keeps no output in memory alone for its name. */
    public static final String TEMPORARY_PREFIX_NONE = "none";

    /** Outputs that are kept in memory alone whatever their names are, with commas between. */
    public static final String TEMPORARY_PATHS = "tegula.temporary.paths";

    /**
     * After how many seconds without use a file that is in memory alone is written to the disk; read by each file system. 0 for
     * never.
     */
    public static final String TEMPORARY_SECONDS = "tegula.temporary.seconds";

    /** The seconds if none are set. */
    public static final long TEMPORARY_SECONDS_DEFAULT = 600;

    /**
     * The folder in which a job leaves its history for Hadoop's own tools, and where clients look for jobs that the engine does
     * not know. None if it is not set: Hadoop's own setting for it has a default, by which every job would leave one.
     */
    public static final String HISTORY_DIR = "tegula.history.dir";

    /** How many jobs are listed, unless more run; read at the JVM's first job. */
    public static final String JOBS_REMEMBERED = "tegula.jobs.remembered";

    /** The number of jobs if none is set. */
    public static final int JOBS_REMEMBERED_DEFAULT = 200;

    /** Host and port of the server that runs the jobs. The client's own JVM does if it is not set. */
    public static final String SERVER_ADDRESS = "tegula.server.address";

    /** The file with the server's secret; in {@code .tegula} of the user's home if it is not set. */
    public static final String SERVER_TOKEN_FILE = "tegula.server.token.file";

    /** After how many seconds the server kills jobs of a client that it has not heard of. */
    public static final String SERVER_LEASE_SECONDS = "tegula.server.lease.seconds";

    /** The seconds if none are set. */
    public static final long SERVER_LEASE_SECONDS_DEFAULT = 30;

    /** The port of the server's page, at the loopback address. Any that is free if it is not set. */
    public static final String SERVER_PAGE_PORT = "tegula.server.page.port";

    /** Whether a server's job continues without its client; false if it is not set. */
    public static final String JOB_DETACHED = "tegula.job.detached";

    /** Where a server listens if it is not told. */
    public static final String SERVER_HOST_DEFAULT = "127.0.0.1";

    /** The port at which a server listens if it is not told. */
    public static final int SERVER_PORT_DEFAULT = 7370;

    private Settings() {}

    /** Whether nobody has set a property: files of Hadoop's own settings give defaults to most. */
    static boolean isDefault(Configuration conf, String name) {
        String[] sources = conf.getPropertySources(name);
        return sources == null || sources[sources.length - 1].endsWith("-default.xml");
    }
}
