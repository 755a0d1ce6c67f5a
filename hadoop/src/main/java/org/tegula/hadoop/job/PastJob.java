package org.tegula.hadoop.job;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.TIPStatus;
import org.apache.hadoop.mapred.TaskID;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.JobPriority;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.TypeConverter;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser.JobInfo;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser.TaskAttemptInfo;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser.TaskInfo;
import org.apache.hadoop.mapreduce.v2.jobhistory.JobIndexInfo;

/** A job that the engine does not know, as its history tells of it. */
final class PastJob implements JobFacts {
    private static final String SUCCEEDED = JobStatus.State.SUCCEEDED.name();
    private static final String FAILED = JobStatus.State.FAILED.name();

    /** As many as Hadoop numbers with six digits, and its clusters run. */
    private static final int MOST_TASKS = 1_000_000;

    private final JobIndexInfo named;
    private final JobInfo info;
    private final Path settings;
    private final Path history;

    /** Takes the name of its history, its contents, and both files. A history that says what cannot be is refused. */
    static PastJob of(JobIndexInfo named, JobInfo info, Path settings, Path history) throws IOException {
        PastJob job = new PastJob(named, info, settings, history);
        job.status();
        job.counters();
        for (long tasks : new long[] {info.getTotalMaps(), info.getTotalReduces()}) {
            if (tasks < 0 || tasks > MOST_TASKS) {
                throw new IOException("A job has no " + tasks + " tasks");
            }
        }
        return job;
    }

    private PastJob(JobIndexInfo named, JobInfo info, Path settings, Path history) {
        this.named = named;
        this.info = info;
        this.settings = settings;
        this.history = history;
    }

    /** Returns the status as far as it is known without reading the history. */
    static JobStatus status(JobIndexInfo named, Path settings, Path history) {
        float progress = named.getJobStatus().equals(SUCCEEDED) ? 1 : 0;
        return new Status(named, progress, progress, JobPriority.NORMAL, "", settings, history);
    }

    @Override
    public JobStatus status() {
        JobPriority priority = JobPriority.valueOf(info.getPriority());
        float maps = part(info.getSucceededMaps(), info.getTotalMaps());
        float reduces = part(info.getSucceededReduces(), info.getTotalReduces());
        return new Status(named, maps, reduces, priority, info.getErrorInfo(), settings, history);
    }

    private static float part(long done, long all) {
        return all == 0 ? 1 : (float) done / all;
    }

    /** Hadoop's file has the sums of jobs that succeeded only. */
    @Override
    public Counters counters() {
        if (info.getTotalCounters() != null) {
            return info.getTotalCounters();
        }
        Counters sum = new Counters();
        for (TaskInfo each : info.getAllTasks().values()) {
            if (each.getCounters() != null) {
                sum.incrAllCounters(each.getCounters());
            }
        }
        return sum;
    }

    @Override
    public TaskReport[] reports(TaskType type) {
        long count =
                switch (type) {
                    case MAP -> info.getTotalMaps();
                    case REDUCE -> info.getTotalReduces();
                    default -> 0;
                };
        TaskReport[] reports = new TaskReport[(int) count];
        for (int i = 0; i < count; i++) {
            TaskID id = new TaskID(JobID.downgrade(info.getJobId()), type, i);
            TaskInfo task = info.getAllTasks().get(id);
            reports[i] = task == null ? new Report(id) : new Report(id, task, errors(task));
        }
        return reports;
    }

    @Override
    public TaskCompletionEvent[] events(int first, int most) {
        List<TaskAttemptInfo> ended = new ArrayList<>();
        info.getAllTasks().values().forEach(task -> ended.addAll(attempts(task)));
        ended.sort(Comparator.comparing(TaskAttemptInfo::getFinishTime).thenComparing(TaskAttemptInfo::getAttemptId));
        TaskCompletionEvent[] events = new TaskCompletionEvent[ended.size()];
        for (int i = 0; i < events.length; i++) {
            events[i] = new Ended(i, ended.get(i), info);
        }
        int start = Math.min(Math.max(0, first), events.length);
        return Arrays.copyOfRange(events, start, start + Math.min(Math.max(0, most), events.length - start));
    }

    @Override
    public String[] diagnostics(TaskID task) {
        TaskInfo found = info.getAllTasks().get(task);
        return found == null ? new String[0] : errors(found);
    }

    private static List<TaskAttemptInfo> attempts(TaskInfo task) {
        return task.getAllTaskAttempts().values().stream()
                .sorted(Comparator.comparing(TaskAttemptInfo::getAttemptId))
                .toList();
    }

    private static String[] errors(TaskInfo task) {
        return attempts(task).stream()
                .filter(each -> FAILED.equals(each.getTaskStatus()))
                .map(TaskAttemptInfo::getError)
                .toArray(String[]::new);
    }

    private static final class Status extends JobStatus {
        Status(
                JobIndexInfo named,
                float maps,
                float reduces,
                JobPriority priority,
                String failure,
                Path settings,
                Path history) {
            super(
                    TypeConverter.fromYarn(named.getJobId()),
                    1,
                    maps,
                    reduces,
                    1,
                    State.valueOf(named.getJobStatus()),
                    priority,
                    named.getUser(),
                    named.getJobName(),
                    named.getQueueName(),
                    settings.toString(),
                    "",
                    false,
                    history.toString());
            setStartTime(named.getSubmitTime());
            setFinishTime(named.getFinishTime());
            setFailureInfo(failure);
            setRetired();
        }
    }

    private static final class Report extends TaskReport {
        /** Of a task that was never begun. */
        Report(TaskID id) {
            super(id, 0, "", new String[0], TIPStatus.KILLED, 0, 0, new Counters());
        }

        Report(TaskID id, TaskInfo task, String[] errors) {
            super(
                    id,
                    SUCCEEDED.equals(task.getTaskStatus()) ? 1 : 0,
                    "",
                    errors,
                    status(task),
                    task.getStartTime(),
                    task.getFinishTime(),
                    task.getCounters() == null ? new Counters() : task.getCounters());
            if (task.getSuccessfulAttemptId() != null) {
                setSuccessfulAttemptId(task.getSuccessfulAttemptId());
            }
        }

        /** Hadoop's parser calls a task failed that was killed, but knows of no attempt that is to blame. */
        private static TIPStatus status(TaskInfo task) {
            if (SUCCEEDED.equals(task.getTaskStatus())) {
                return TIPStatus.COMPLETE;
            }
            return task.getFailedDueToAttemptId() == null ? TIPStatus.KILLED : TIPStatus.FAILED;
        }
    }

    private static final class Ended extends TaskCompletionEvent {
        Ended(int number, TaskAttemptInfo attempt, JobInfo job) {
            super(
                    number,
                    attempt.getAttemptId(),
                    attempt.getAttemptId().getTaskID().getId(),
                    attempt.getTaskType() == TaskType.MAP,
                    status(attempt, job),
                    "");
            setTaskRunTime((int) (attempt.getFinishTime() - attempt.getStartTime()));
        }

        private static Status status(TaskAttemptInfo attempt, JobInfo job) {
            TaskInfo task = job.getAllTasks().get(attempt.getAttemptId().getTaskID());
            boolean isLast = task != null && attempt.getAttemptId().equals(task.getFailedDueToAttemptId());
            if (FAILED.equals(attempt.getTaskStatus())) {
                return isLast ? Status.TIPFAILED : Status.FAILED;
            }
            return SUCCEEDED.equals(attempt.getTaskStatus()) ? Status.SUCCEEDED : Status.KILLED;
        }
    }
}
