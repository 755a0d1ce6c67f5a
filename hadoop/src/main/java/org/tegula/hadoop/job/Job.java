package org.tegula.hadoop.job;

import java.io.IOException;
import java.net.URLClassLoader;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobContextImpl;
import org.apache.hadoop.mapred.JobEndNotifier;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskID;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.JobPriority;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.collect.SpareSlots;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.place.MapOutput;
import org.tegula.hadoop.place.PlaceJob;
import org.tegula.hadoop.place.PlaceLost;
import org.tegula.hadoop.place.PlacedJob;
import org.tegula.hadoop.place.Places;
import org.tegula.hadoop.run.SpillFiles;
import org.tegula.hadoop.task.AttemptHandle;
import org.tegula.hadoop.task.JobResources;
import org.tegula.hadoop.task.SplitFile;

/** One job, from its files to its committed output. {@link #execute} is all of it on one screen. */
public final class Job implements JobFacts {
    private static final Logger LOG = LoggerFactory.getLogger(Job.class);

    /** More attempts than a task makes in one run of the job. */
    private static final int ATTEMPTS_OF_A_RUN = 1000;

    private final JobID id;
    private final JobConf conf;
    private final JobFolder folder;
    private final Places places;
    private final JobResources resources;
    private final UserGroupInformation user;
    private final JobState state;
    private final JobEvents events = new JobEvents();
    private final Optional<JobHistory> history;
    private final ClassLoader parentClasses = Thread.currentThread().getContextClassLoader();
    private List<PlaceJob> parts = List.of();
    private URLClassLoader classes;
    private Stage stage;
    private boolean killed;
    private int reruns;
    /** Says that the output is in memory alone; empty if it is not. */
    private Optional<String> held = Optional.empty();

    /** What the present run has lost; null if nothing. */
    private PlaceLost loss;

    /**
     * A job that was submitted by the present user; it is still to be started.
     *
     * @param id its name
     * @param conf its configuration
     * @param folder its files
     * @param places where its tasks run
     * @param memory for map output
     * @param cache of pairs that jobs have read and written before
     * @param bufferBytes how much a map task collects before it sorts
     * @throws IOException if the user is not known
     */
    public Job(
            JobID id,
            JobConf conf,
            JobFolder folder,
            Places places,
            MemoryBudget memory,
            PairCache cache,
            long bufferBytes)
            throws IOException {
        this.id = id;
        this.conf = conf;
        this.folder = folder;
        this.places = places;
        this.resources = new JobResources(
                conf,
                memory,
                new SpillFiles(conf, id.toString()),
                cache,
                new LiveValues(memory),
                bufferBytes,
                new SplitFile(folder.splitFile()),
                SpareSlots.NONE,
                this::mayCommit);
        this.history = HistoryFolder.of(conf).map(JobHistory::new);
        this.user = UserGroupInformation.getCurrentUser();
        this.state = new JobState(
                id, user.getShortUserName(), conf, folder.confFile().toString());
    }

    /**
     * Starts the job in a thread of its own, which keeps the JVM alive until it ends.
     *
     * @param afterwards runs in the thread when the job has ended
     */
    public void start(Runnable afterwards) {
        state.begin();
        Runnable all = () -> {
            try {
                run();
            } finally {
                afterwards.run();
            }
        };
        new Thread(all, "tegula-" + id).start();
    }

    private void run() {
        JobStatus.State last;
        String why = "";
        try {
            user.doAs((PrivilegedExceptionAction<Void>) () -> {
                executeWhilePlacesAreLost();
                return null;
            });
            last = JobStatus.State.SUCCEEDED;
        } catch (Throwable e) {
            last = isKilled() ? JobStatus.State.KILLED : JobStatus.State.FAILED;
            why = isKilled() ? "Job was killed by request" : reason(e);
            LOG.warn("{} ended as {}", id, last, e);
        }
        writeHistory(last, why);
        forget();
        state.end(last, why);
        JobEndNotifier.localRunnerNotification(conf, org.apache.hadoop.mapred.JobStatus.downgrade(state.status()));
    }

    /** Whatever happens to its history, the job ends as it would without one. */
    private void writeHistory(JobStatus.State last, String why) {
        if (history.isEmpty()) {
            return;
        }
        JobHistory all = history.get();
        try {
            user.doAs((PrivilegedExceptionAction<Void>) () -> {
                Path events = all.write(state.status(), last, why, state.maps(), state.reduces(), counters());
                state.setHistory(events.toString(), all.folder().confFile(id).toString());
                return null;
            });
        } catch (Throwable e) {
            String name = all.folder().name();
            LOG.warn(
                    "The history of {} could not be written to {} ({}): there is none",
                    id,
                    name,
                    Settings.HISTORY_DIR,
                    e);
        }
    }

    /** Releases data that only a running job needs. */
    private synchronized void forget() {
        stage = null;
        if (classes != null) {
            HadoopRegistries.forget(classes);
            classes = null;
        }
        conf.setClassLoader(parentClasses);
    }

    private static String reason(Throwable e) {
        Throwable cause = e instanceof java.lang.reflect.UndeclaredThrowableException ? e.getCause() : e;
        return cause instanceof TaskFailure ? cause.getMessage() : cause.toString();
    }

    /** Runs the job again, from the files of its input, as often as it wants after the loss of a place. */
    private void executeWhilePlacesAreLost() throws Exception {
        UnusedSettings.check(id.toString(), conf);
        try {
            int most = conf.getInt(Settings.PLACES_RERUNS, 0);
            while (!isExecuted(most)) {
                synchronized (this) {
                    reruns++;
                    stage = null;
                    loss = null;
                }
            }
        } finally {
            deleteFiles();
        }
    }

    /** The job's own files, as far as they can be deleted: that does not change how it has ended. */
    private void deleteFiles() {
        resources.disk().delete();
        try {
            folder.delete(conf);
        } catch (IOException | RuntimeException e) {
            LOG.warn("The staging folder {} of {} could not be deleted", folder.path(), id, e);
        }
    }

    /** False if the job is to run again. */
    private boolean isExecuted(int most) throws Exception {
        try {
            execute();
            return true;
        } catch (Exception e) {
            if (reruns == most || isKilled() || !(e instanceof PlaceLost || e.getCause() instanceof PlaceLost)) {
                throw e;
            }
            LOG.warn("{} is run again from its input: {}", id, e.getMessage());
            return false;
        }
    }

    private void execute() throws Exception {
        List<MapOutput> shuffled = new ArrayList<>();
        JobScope scope =
                JobScope.open(conf, id.toString(), LocalCache.workingFolders(conf), parentClasses, this::isKilled);
        try {
            useClasses(scope.classes());
            parts = places.begin(new PlacedJob(id, folder, user, resources, this::lost));
            JobContext context = new JobContextImpl(conf, id);
            OutputCommitter committer = JobCommitter.of(conf, id);
            try {
                JobSplit.TaskSplitMetaInfo[] splits = folder.readSplits(id, conf);
                makeTasks(splits.length, conf.getNumReduceTasks());
                // The output of an earlier run is there already, and as before.
                held = TemporaryOutput.hold(conf, places.areElsewhere()).or(() -> held);
                committer.setupJob(context);
                state.setUp();
                shuffled.addAll(map(splits));
                reduce(shuffled, splits.length);
                committer.commitJob(context);
                keepWritten();
                held.ifPresent(this::tell);
            } catch (Throwable e) {
                abort(committer, context);
                throw e;
            }
        } finally {
            close(scope);
            shuffled.forEach(MapOutput::release);
            endParts();
        }
    }

    /** The job's output may be committed by now, and is what it is whatever stays of the job's files. */
    private void close(JobScope scope) {
        try {
            scope.close();
        } catch (IOException | RuntimeException e) {
            LOG.warn("Files of {} could not be deleted", id, e);
        }
    }

    /** At all places at once. The job has succeeded by now, whatever can be kept of its output. */
    private void keepWritten() {
        List<PlaceJob.Begun> begun = new ArrayList<>();
        try {
            for (PlaceJob part : parts) {
                begun.add(part.keepWritten());
            }
            for (PlaceJob.Begun each : begun) {
                each.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException | Error e) {
            LOG.warn("The output of {} is committed, and not all of it could be kept in memory", id, e);
        }
    }

    /** At all places at once. The job's output is safe already: who stops the job now need not wait for the end. */
    private void endParts() {
        List<PlaceJob.Begun> begun = parts.stream().map(PlaceJob::end).toList();
        try {
            for (PlaceJob.Begun each : begun) {
                each.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized boolean mayCommit(TaskAttemptID attempt) {
        return stage != null && stage.mayCommit(attempt);
    }

    /** Ends the job, because a place has lost what the job had there. */
    private synchronized void lost(PlaceLost what) {
        loss = what;
        if (stage != null) {
            stage.fail(what);
        }
    }

    /** Reports a note about a job that has succeeded, here and at its client. */
    private void tell(String note) {
        LOG.warn("{}: {}", id, note);
        state.setNote(note);
    }

    private void useClasses(URLClassLoader loader) {
        classes = loader;
        conf.setClassLoader(loader);
        Thread.currentThread().setContextClassLoader(loader);
    }

    private void abort(OutputCommitter committer, JobContext context) {
        try {
            committer.abortJob(context, isKilled() ? JobStatus.State.KILLED : JobStatus.State.FAILED);
        } catch (IOException | RuntimeException e) {
            LOG.warn("The output of {} could not be aborted", id, e);
        }
    }

    private void makeTasks(int maps, int reduces) {
        state.setTasks(tasks(TaskType.MAP, maps), tasks(TaskType.REDUCE, reduces));
    }

    private List<TaskState> tasks(TaskType type, int count) {
        List<TaskState> tasks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            tasks.add(new TaskState(new TaskID(id, type, i), reruns * ATTEMPTS_OF_A_RUN));
        }
        return tasks;
    }

    /** The output of all map tasks that have any, in the order of the tasks. */
    private List<MapOutput> map(JobSplit.TaskSplitMetaInfo[] splits) throws Exception {
        int[] homes = SplitHomes.of(splits, resources, places.slots());
        MapOutput[] outputs = new MapOutput[splits.length];
        try {
            run(new Stage(state.maps(), StageRules.forMaps(conf), places.slots().line(rank()), new Tasks() {
                @Override
                public int home(TaskState task) {
                    return homes[task.id().getId()];
                }

                @Override
                AttemptHandle attempt(TaskState task, TaskAttemptID attempt, int slot, PlaceJob part) {
                    return part.map(attempt, slot, splits[task.id().getId()].getSplitIndex());
                }

                @Override
                void succeeded(TaskState task, AttemptHandle attempt, PlaceJob part) {
                    outputs[task.id().getId()] = part.output(attempt);
                }
            }));
        } catch (Throwable e) {
            Arrays.stream(outputs).filter(Objects::nonNull).forEach(MapOutput::release);
            throw e;
        }
        return Arrays.stream(outputs).filter(Objects::nonNull).toList();
    }

    private void reduce(List<MapOutput> shuffled, int maps) throws Exception {
        run(new Stage(
                state.reduces(), StageRules.forReduces(conf), places.slots().line(rank()), new Tasks() {
                    @Override
                    public int home(TaskState task) {
                        return places.slots().slotOf(task.id().getId());
                    }

                    @Override
                    AttemptHandle attempt(TaskState task, TaskAttemptID attempt, int slot, PlaceJob part) {
                        return part.reduce(attempt, home(task), shuffled, maps);
                    }
                }));
    }

    private void run(Stage next) throws Exception {
        synchronized (this) {
            stage = next;
            if (loss != null) {
                next.fail(loss);
            }
            if (killed) {
                next.stop();
            }
        }
        next.run();
        if (isKilled()) {
            throw new InterruptedException("The job was killed");
        }
    }

    /** Higher priorities have lower ranks. */
    private int rank() {
        return switch (state.priority()) {
            case VERY_HIGH -> 0;
            case HIGH -> 1;
            case LOW -> 3;
            case VERY_LOW -> 4;
            default -> 2;
        };
    }

    private void launched(TaskAttemptID attempt) {
        events.launched(attempt);
        history.ifPresent(all -> all.started(attempt));
    }

    /** The common part of stages of both kinds. */
    private abstract class Tasks implements Stage.Work {
        private final Map<AttemptHandle, PlaceJob> owners = new ConcurrentHashMap<>();

        abstract AttemptHandle attempt(TaskState task, TaskAttemptID attempt, int slot, PlaceJob part);

        /** Takes the result of a task. */
        void succeeded(TaskState task, AttemptHandle attempt, PlaceJob part) {}

        @Override
        public AttemptHandle attempt(TaskState task, TaskAttemptID attempt, int slot) {
            launched(attempt);
            PlaceJob part = parts.get(places.slots().placeOf(slot));
            AttemptHandle made = attempt(task, attempt, slot, part);
            owners.put(made, part);
            return made;
        }

        @Override
        public void succeeded(TaskState task, AttemptHandle attempt) {
            PlaceJob part = owners.remove(attempt);
            part.accept(attempt);
            succeeded(task, attempt, part);
        }

        @Override
        public void discard(AttemptHandle attempt) {
            PlaceJob part = owners.remove(attempt);
            if (part != null) {
                part.discard(attempt);
            }
        }

        @Override
        public void run(AttemptHandle attempt) throws Exception {
            Thread.currentThread().setContextClassLoader(classes);
            try {
                user.doAs((PrivilegedExceptionAction<Void>) () -> {
                    attempt.run();
                    return null;
                });
            } catch (java.lang.reflect.UndeclaredThrowableException e) {
                throw e.getCause() instanceof Exception cause ? cause : e;
            }
        }

        @Override
        public void ended(TaskState task, TaskAttemptID attempt, TaskCompletionEvent.Status status) {
            events.ended(attempt, status, task.runMillis());
            history.ifPresent(all -> all.ended(task, attempt, status));
        }
    }

    private synchronized boolean isKilled() {
        return killed;
    }

    /** Ends the job soon; its output is aborted. A job that has ended stays as it is. */
    public synchronized void kill() {
        if (!state.hasEnded()) {
            killed = true;
            if (stage != null) {
                stage.stop();
            }
        }
    }

    /**
     * Ends one attempt, which is tried again.
     *
     * @param attempt which
     * @param asFailure whether it counts against its task
     * @return false if it does not run
     */
    public synchronized boolean end(TaskAttemptID attempt, boolean asFailure) {
        return stage != null && stage.end(attempt, asFailure);
    }

    /**
     * Changes when tasks that are still to be started come in turn, from the next stage on.
     *
     * @param priority the new one
     */
    public void setPriority(JobPriority priority) {
        state.setPriority(priority);
    }

    @Override
    public JobStatus status() {
        return state.status();
    }

    /**
     * Whether the job is over and its files are gone.
     *
     * @return false while it runs
     */
    public boolean hasEnded() {
        return state.hasEnded();
    }

    @Override
    public org.apache.hadoop.mapreduce.Counters counters() {
        Counters sum = new Counters();
        state.maps().forEach(task -> task.addCounters(sum));
        state.reduces().forEach(task -> task.addCounters(sum));
        events.addCounters(sum);
        return new org.apache.hadoop.mapreduce.Counters(sum);
    }

    @Override
    public TaskReport[] reports(TaskType type) {
        List<TaskState> tasks =
                switch (type) {
                    case MAP -> state.maps();
                    case REDUCE -> state.reduces();
                    default -> List.of();
                };
        return tasks.stream().map(TaskState::report).toArray(TaskReport[]::new);
    }

    @Override
    public TaskCompletionEvent[] events(int first, int most) {
        return events.from(first, most);
    }

    @Override
    public String[] diagnostics(TaskID task) {
        List<TaskState> tasks = task.getTaskType() == TaskType.MAP ? state.maps() : state.reduces();
        return task.getId() < tasks.size() ? tasks.get(task.getId()).diagnostics() : new String[0];
    }
}
