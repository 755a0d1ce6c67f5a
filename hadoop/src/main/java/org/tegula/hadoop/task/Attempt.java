package org.tegula.hadoop.task;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.FileOutputCommitter;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.Progressable;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.cache.CachedOutput;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.conf.LayeredConf;
import org.tegula.hadoop.live.KnownSize;

/** One try at a task: its output is committed if all goes well, or left for the driver to commit; it is aborted else. */
public abstract class Attempt implements AttemptHandle {
    final JobResources job;
    final TaskAttemptID id;
    final JobConf conf;
    final TaskReporter reporter;
    final KnownSize known = new KnownSize();
    /** Where its data are from now on. */
    final int home;

    OutputFormat<?, ?> newOutputFormat;
    OutputCommitter committer;
    private boolean leavesCommit;
    private final List<CachedOutput> copies = new ArrayList<>();

    Attempt(JobResources job, TaskAttemptID id, int home) {
        this.job = job;
        this.id = id;
        this.home = home;
        this.conf = new LayeredConf(job.conf());
        this.reporter = new TaskReporter(conf);
    }

    @Override
    public final TaskAttemptID id() {
        return id;
    }

    /** Asks the attempt to stop at its next record; the caller also interrupts its thread. If it goes on, its processes end. */
    @Override
    public final void stop() {
        reporter.stop();
        TaskProcesses.endSoon(id.toString());
    }

    @Override
    public final long silentNanos() {
        return reporter.silentNanos();
    }

    @Override
    public final void ask() {
        reporter.ask();
    }

    @Override
    public final Counters counters() {
        return reporter.counters();
    }

    @Override
    public final String status() {
        return reporter.status();
    }

    @Override
    public final float lastProgress() {
        return reporter.lastProgress();
    }

    @Override
    public final void run() throws Exception {
        FileSystemCounts traffic = new FileSystemCounts();
        TimeCounts times = new TimeCounts();
        localise();
        org.apache.hadoop.mapred.TaskAttemptContext context = new ReportingContext(conf, id, reporter);
        setUpOutput(context);
        RunningAttempts.begin(this);
        try {
            workUntilStopped();
            commit(context);
        } catch (Throwable e) {
            abandonCopies();
            TaskProcesses.end(Set.of(id.toString()));
            FileCommit.abort(committer, context);
            throw e;
        } finally {
            RunningAttempts.end(this);
            traffic.addTo(reporter.counters());
            times.addTo(reporter);
            reporter.getCounter(TaskCounter.COMMITTED_HEAP_BYTES)
                    .setValue(Runtime.getRuntime().totalMemory());
        }
        reporter.setPosition(() -> 1);
        reporter.updateProgress();
    }

    private void workUntilStopped() throws Exception {
        reporter.begin();
        try {
            work();
        } finally {
            reporter.end();
        }
        reporter.check();
    }

    /**
     * Returns a copy of the pairs that the task writes to a file of the job's output, for the cache.
     *
     * @return null if the file's last place is not known, or nothing is kept
     */
    final CachedOutput copyOf(Path work) throws IOException {
        Path target = job.cache().isOn() ? target(work) : null;
        if (target == null) {
            return null;
        }
        CachedOutput copy = new CachedOutput(job.cache(), conf, work, target, home, promises(), known);
        synchronized (copies) {
            copies.add(copy);
        }
        return copy;
    }

    /** Where Hadoop's own committer puts a file that the task writes; null for other committers, and files of other places. */
    private Path target(Path work) throws IOException {
        Path folder = null;
        if (committer.getClass() == FileOutputCommitter.class) {
            folder = FileOutputFormat.getWorkOutputPath(conf);
        } else if (committer.getClass() == org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter.class) {
            folder = ((org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter) committer).getWorkPath();
        }
        URI inside = folder == null ? null : folder.toUri().relativize(work.toUri());
        return inside == null || inside.getPath().startsWith("/")
                ? null
                : new Path(FileOutputFormat.getOutputPath(conf), new Path(null, null, inside.getPath()));
    }

    /** Returns a writer of pairs that stay in memory, for a file that is not compressed; null for the format's own writer. */
    final PairsRecordWriter pairsOf(Path work, Class<?> keyType, Class<?> valueType) throws IOException {
        return PairsRecordWriter.create(
                work, new SequencePairsWriter.Types(keyType, valueType, promises(), known, home, conf));
    }

    /**
     * Returns the copies of the task's outputs.
     *
     * @return an entry for each file of which there is one
     */
    public final List<CachedOutput> copies() {
        synchronized (copies) {
            return List.copyOf(copies);
        }
    }

    /** Gives up the copies of the task's outputs. */
    public final void abandonCopies() {
        copies().forEach(CachedOutput::abandon);
    }

    abstract void work() throws Exception;

    /** Returns whether emitted objects are not changed afterwards. */
    abstract boolean promises();

    /** Returns an object that stays as it was emitted, if {@link #promises}: some objects may change yet. */
    Object kept(Object emitted) throws IOException {
        return emitted;
    }

    abstract boolean usesNewInterface();

    private void localise() {
        conf.set(JobContext.TASK_ID, id.getTaskID().toString());
        conf.set(JobContext.TASK_ATTEMPT_ID, id.toString());
        conf.setBoolean(JobContext.TASK_ISMAP, id.getTaskType() == org.apache.hadoop.mapreduce.TaskType.MAP);
        conf.setInt(JobContext.TASK_PARTITION, id.getTaskID().getId());
        conf.set(JobContext.ID, id.getJobID().toString());
    }

    private void setUpOutput(org.apache.hadoop.mapred.TaskAttemptContext context) throws Exception {
        if (usesNewInterface()) {
            Class<? extends OutputFormat<?, ?>> format = context.getOutputFormatClass();
            SideFormats.replace(conf);
            newOutputFormat = ReflectionUtils.newInstance(format, conf);
            committer = newOutputFormat.getOutputCommitter(context);
        } else {
            SideFormats.replace(conf);
            committer = conf.getOutputCommitter();
        }
        Path output = FileOutputFormat.getOutputPath(conf);
        if (output != null) {
            FileOutputFormat.setWorkOutputPath(
                    conf, committer instanceof FileOutputCommitter files ? files.getTaskAttemptPath(context) : output);
        }
        committer.setupTask(context);
    }

    private void commit(org.apache.hadoop.mapred.TaskAttemptContext context) throws IOException {
        leavesCommit = job.commits().areFilesLeft() && FileCommit.is(committer, context, job.conf());
        if (leavesCommit || !committer.needsTaskCommit(context)) {
            return;
        }
        if (reporter.isStopped() || !job.commits().mayCommit(id)) {
            throw new IOException(id + " is not waited for any more");
        }
        committer.commitTask(context);
    }

    /**
     * Whether its output is still to be committed, by {@link FileCommit}.
     *
     * @return false if the attempt has done so, or has none
     */
    public final boolean leavesCommit() {
        return leavesCommit;
    }

    /** The name of a part file of the {@code mapred} interface. */
    final String outputName() {
        return String.format("part-%05d", id.getTaskID().getId());
    }

    /** Hadoop's own context, but with a reporter; the constructor that takes one is not public. */
    private static final class ReportingContext extends org.apache.hadoop.mapred.TaskAttemptContextImpl {
        private final TaskReporter reporter;

        ReportingContext(JobConf conf, TaskAttemptID id, TaskReporter reporter) {
            super(conf, id);
            this.reporter = reporter;
        }

        @Override
        public Progressable getProgressible() {
            return reporter;
        }

        @Override
        public float getProgress() {
            return reporter.getProgress();
        }

        @Override
        public org.apache.hadoop.mapreduce.Counter getCounter(Enum<?> name) {
            return reporter.getCounter(name);
        }

        @Override
        public org.apache.hadoop.mapreduce.Counter getCounter(String group, String name) {
            return reporter.getCounter(group, name);
        }

        @Override
        public void progress() {
            reporter.progress();
        }

        @Override
        public void setStatus(String status) {
            super.setStatus(status);
            reporter.setStatus(status);
        }
    }
}
