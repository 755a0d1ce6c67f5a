package org.tegula.hadoop.engine;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.job.Job;
import org.tegula.hadoop.job.JobFolder;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.place.Places;

/** Runs the jobs of one JVM: they share its slots and its memory. It remembers the jobs that ended last. */
public final class Engine {
    /** Of the memory, runs have a half; buffers a fourth, and as much again while they grow or are sorted. */
    private static final int RUNS_SHARE = 2;

    private static final int BUFFERS_SHARE = 4;

    private static Engine shared;

    private final Places places;
    private final MemoryBudget memory;
    private final PairCache cache;
    private final long mostBufferBytes;
    private final int remembered;
    private final String started = Long.toString(System.currentTimeMillis());
    private final Map<JobID, Job> jobs = new LinkedHashMap<>();
    private int lastJob;

    /**
     * An engine of its own.
     *
     * @param places where tasks run
     * @param memoryBytes how much map output may take, while it is collected and afterwards
     * @param cache of pairs that jobs read and write
     * @param remembered how many jobs it knows, unless more run
     */
    public Engine(Places places, long memoryBytes, PairCache cache, int remembered) {
        this.remembered = remembered;
        this.cache = cache;
        this.places = places;
        memory = new MemoryBudget(memoryBytes / RUNS_SHARE);
        mostBufferBytes = memoryBytes / BUFFERS_SHARE / places.slots().count();
    }

    /**
     * The engine of this JVM, which is made at first use.
     *
     * @param conf sets its size, the first time
     * @return the engine
     */
    public static synchronized Engine shared(Configuration conf) {
        if (shared == null) {
            int processors = Runtime.getRuntime().availableProcessors();
            long halfHeapMb = Runtime.getRuntime().maxMemory() >> 21;
            shared = new Engine(
                    Places.of(conf, Math.max(1, conf.getInt(Settings.WORKERS, processors))),
                    Math.max(1, conf.getLong(Settings.MEMORY_MB, halfHeapMb)) << 20,
                    PairCache.shared(conf),
                    Math.max(1, conf.getInt(Settings.JOBS_REMEMBERED, Settings.JOBS_REMEMBERED_DEFAULT)));
        }
        return shared;
    }

    /**
     * A name for the next job.
     *
     * @return an identity that no other job of this engine has
     */
    public synchronized JobID newJobId() {
        return new JobID(started, ++lastJob);
    }

    /**
     * Starts a job.
     *
     * @param id its name
     * @param files where the client has put them
     * @param conf the job's configuration, with credentials
     * @param afterwards runs when the job has ended and nothing of it runs
     * @return the job, which runs
     * @throws IOException if the user is not known
     */
    public Job submit(JobID id, JobFolder files, JobConf conf, Runnable afterwards) throws IOException {
        Job job = new Job(id, conf, files, places, memory, cache, bufferBytes(conf));
        synchronized (this) {
            jobs.put(id, job);
            forgetOldest();
        }
        job.start(afterwards);
        return job;
    }

    /** Returns the limit on a map task's buffer: as much as it asks for, but no more than its part of the buffers' share. */
    private long bufferBytes(JobConf conf) {
        long asked = (long) conf.getInt(MRJobConfig.IO_SORT_MB, MRJobConfig.DEFAULT_IO_SORT_MB) << 20;
        return Math.max(1 << 16, Math.min(asked, mostBufferBytes));
    }

    private void forgetOldest() {
        Iterator<Job> oldest = jobs.values().iterator();
        for (int surplus = jobs.size() - remembered; surplus > 0 && oldest.hasNext(); ) {
            if (oldest.next().hasEnded()) {
                oldest.remove();
                surplus--;
            }
        }
    }

    /**
     * A job by its name.
     *
     * @param id its name
     * @return null if there is none, or it ended long ago
     */
    public synchronized Job job(JobID id) {
        return jobs.get(id);
    }

    /**
     * All jobs that are remembered, the oldest first.
     *
     * @return a list of its own
     */
    public synchronized List<Job> jobs() {
        return new ArrayList<>(jobs.values());
    }

    /**
     * The slots of the engine.
     *
     * @return the slots themselves
     */
    public Slots slots() {
        return places.slots();
    }

    /**
     * Where tasks run.
     *
     * @return the places themselves
     */
    public Places places() {
        return places;
    }

    /**
     * Returns the cache of pairs that are kept from job to job.
     *
     * @return the cache itself
     */
    public PairCache cache() {
        return cache;
    }

    /**
     * The memory for runs.
     *
     * @return the budget itself
     */
    public MemoryBudget memory() {
        return memory;
    }
}
