package org.tegula.hadoop.job;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobPriority;
import org.apache.hadoop.mapreduce.JobStatus;

/** How far a job is; it may be asked at any time. */
final class JobState {
    /** Hadoop's text for a job without a page. */
    private static final String NO_PAGE = "N/A";
    /** The most that progress may be out of date: clients ask for the state more often, and each answer asks all tasks. */
    private static final long PROGRESS_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final JobID id;
    private final String user;
    private final String name;
    private final String queue;
    private final long startMillis = System.currentTimeMillis();
    private JobStatus.State state = JobStatus.State.PREP;
    /** The job's settings, in its folder or its history. */
    private String file;

    private String history = "";
    private JobPriority priority;
    private float setup;
    private float cleanup;
    private String failure = "";
    private String note = new JobStatus().getSchedulingInfo();
    private long finishMillis;
    private float mapProgress;
    private float reduceProgress;
    private long progressNanos = System.nanoTime() - PROGRESS_NANOS;
    private List<TaskState> maps = List.of();
    private List<TaskState> reduces = List.of();

    JobState(JobID id, String user, JobConf conf, String file) {
        this.id = id;
        this.user = user;
        this.name = conf.getJobName();
        this.queue = conf.getQueueName();
        this.file = file;
        this.priority = JobPriority.valueOf(conf.getJobPriority().name());
    }

    synchronized void begin() {
        state = JobStatus.State.RUNNING;
    }

    synchronized void setUp() {
        setup = 1;
    }

    synchronized void setTasks(List<TaskState> mapTasks, List<TaskState> reduceTasks) {
        maps = mapTasks;
        reduces = reduceTasks;
    }

    synchronized List<TaskState> maps() {
        return maps;
    }

    synchronized List<TaskState> reduces() {
        return reduces;
    }

    synchronized void end(JobStatus.State last, String why) {
        cleanup = 1;
        state = last;
        failure = why;
        finishMillis = System.currentTimeMillis();
    }

    /** Notes where both files of the job's history are. */
    synchronized void setHistory(String events, String settings) {
        history = events;
        file = settings;
    }

    /** Sets the note that a client prints about the job. */
    synchronized void setNote(String text) {
        note = text;
    }

    synchronized boolean hasEnded() {
        return finishMillis != 0;
    }

    synchronized JobPriority priority() {
        return priority;
    }

    synchronized void setPriority(JobPriority asked) {
        priority = asked;
    }

    synchronized JobStatus status() {
        long now = System.nanoTime();
        if (hasEnded() || now - progressNanos > PROGRESS_NANOS) {
            mapProgress = progress(maps, 0);
            reduceProgress = progress(reduces, 0);
            progressNanos = now;
        }
        Status status = new Status();
        status.setStartTime(startMillis);
        status.setFinishTime(finishMillis);
        status.setFailureInfo(failure);
        status.setSchedulingInfo(note);
        return status;
    }

    private float progress(List<TaskState> tasks, float without) {
        if (tasks.isEmpty()) {
            return setup == 1 ? 1 : without;
        }
        float sum = 0;
        for (TaskState task : tasks) {
            sum += task.progress();
        }
        return sum / tasks.size();
    }

    /** Opens the setters, which are for Hadoop's own package. */
    private final class Status extends JobStatus {
        Status() {
            super(
                    id,
                    setup,
                    mapProgress,
                    reduceProgress,
                    cleanup,
                    state,
                    priority,
                    user,
                    name,
                    queue,
                    file,
                    NO_PAGE,
                    false,
                    history);
        }

        @Override
        public synchronized void setStartTime(long millis) {
            super.setStartTime(millis);
        }

        @Override
        public synchronized void setFinishTime(long millis) {
            super.setFinishTime(millis);
        }

        @Override
        public synchronized void setSchedulingInfo(String text) {
            super.setSchedulingInfo(text);
        }

        @Override
        public synchronized void setFailureInfo(String why) {
            super.setFailureInfo(why);
        }
    }
}
