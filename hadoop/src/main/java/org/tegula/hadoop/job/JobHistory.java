package org.tegula.hadoop.job;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobPriority;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.TypeConverter;
import org.apache.hadoop.mapreduce.jobhistory.HistoryEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobFinishedEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobInfoChangeEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobInitedEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobPriorityChangeEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobSubmittedEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobUnsuccessfulCompletionEvent;
import org.apache.hadoop.mapreduce.jobhistory.MapAttemptFinishedEvent;
import org.apache.hadoop.mapreduce.jobhistory.ReduceAttemptFinishedEvent;
import org.apache.hadoop.mapreduce.jobhistory.TaskAttemptStartedEvent;
import org.apache.hadoop.mapreduce.jobhistory.TaskAttemptUnsuccessfulCompletionEvent;
import org.apache.hadoop.mapreduce.jobhistory.TaskFailedEvent;
import org.apache.hadoop.mapreduce.jobhistory.TaskFinishedEvent;
import org.apache.hadoop.mapreduce.jobhistory.TaskStartedEvent;
import org.apache.hadoop.mapreduce.v2.jobhistory.JobIndexInfo;

/** Notes the attempts of a job while it runs, and tells all of it as Hadoop's own events when it has ended. */
final class JobHistory {
    private static final String HOST = "localhost";
    private static final int NO_PORT = -1;
    private static final String SUCCEEDED = JobStatus.State.SUCCEEDED.name();
    private static final String FAILED = JobStatus.State.FAILED.name();
    private static final String KILLED = JobStatus.State.KILLED.name();

    private final HistoryFolder folder;
    private final Map<TaskID, Map<TaskAttemptID, Tried>> attempts = new HashMap<>();

    /** An attempt; one that was abandoned has no end. */
    private static final class Tried {
        private final long startMillis = System.currentTimeMillis();
        private long finishMillis;
        private TaskCompletionEvent.Status status = TaskCompletionEvent.Status.KILLED;
        private String error = "";
    }

    /** A history that goes to a folder. */
    JobHistory(HistoryFolder folder) {
        this.folder = folder;
    }

    HistoryFolder folder() {
        return folder;
    }

    synchronized void started(TaskAttemptID attempt) {
        attempts.computeIfAbsent(attempt.getTaskID(), task -> new LinkedHashMap<>())
                .put(attempt, new Tried());
    }

    synchronized void ended(TaskState task, TaskAttemptID attempt, TaskCompletionEvent.Status status) {
        Tried tried = attempts.getOrDefault(attempt.getTaskID(), Map.of()).get(attempt);
        if (tried == null) {
            return; // it could not even be made
        }
        tried.finishMillis = System.currentTimeMillis();
        tried.status = status;
        String[] diagnostics = task.diagnostics();
        if (isFailure(status) && diagnostics.length > 0) {
            tried.error = diagnostics[diagnostics.length - 1];
        }
    }

    private static boolean isFailure(TaskCompletionEvent.Status status) {
        return status == TaskCompletionEvent.Status.FAILED || status == TaskCompletionEvent.Status.TIPFAILED;
    }

    /**
     * Writes the history.
     *
     * @param job as it was at its end
     * @param last how it ended
     * @param why it did not succeed
     * @param maps all map tasks
     * @param reduces all reduce tasks
     * @param total the counters of the job
     * @return the file of events
     */
    synchronized Path write(
            JobStatus job,
            JobStatus.State last,
            String why,
            List<TaskState> maps,
            List<TaskState> reduces,
            Counters total)
            throws IOException {
        long finishMillis = System.currentTimeMillis();
        Tasks mapped = new Tasks(maps, finishMillis);
        Tasks reduced = new Tasks(reduces, finishMillis);
        List<HistoryEvent> events = new ArrayList<>(begin(job, maps.size(), reduces.size()));
        events.addAll(mapped.events);
        events.addAll(reduced.events);
        events.add(
                last == JobStatus.State.SUCCEEDED
                        ? new JobFinishedEvent(
                                job.getJobID(),
                                finishMillis,
                                mapped.succeeded,
                                reduced.succeeded,
                                mapped.failed,
                                reduced.failed,
                                mapped.killed,
                                reduced.killed,
                                mapped.counters,
                                reduced.counters,
                                total)
                        : new JobUnsuccessfulCompletionEvent(
                                job.getJobID(),
                                finishMillis,
                                mapped.succeeded,
                                reduced.succeeded,
                                mapped.failed,
                                reduced.failed,
                                mapped.killed,
                                reduced.killed,
                                last.name(),
                                List.of(why)));
        JobIndexInfo index = new JobIndexInfo(
                job.getStartTime(),
                finishMillis,
                job.getUsername(),
                job.getJobName(),
                TypeConverter.toYarn(job.getJobID()),
                mapped.succeeded,
                reduced.succeeded,
                last.name(),
                job.getQueue());
        index.setJobStartTime(job.getStartTime());
        return folder.write(index, events);
    }

    private List<HistoryEvent> begin(JobStatus job, int maps, int reduces) throws IOException {
        JobID id = job.getJobID();
        long start = job.getStartTime();
        return List.of(
                new JobSubmittedEvent(
                        id,
                        job.getJobName(),
                        job.getUsername(),
                        start,
                        folder.confFile(id).toString(),
                        Map.of(),
                        job.getQueue()),
                new JobPriorityChangeEvent(
                        id, JobPriority.valueOf(job.getPriority().name())),
                new JobInfoChangeEvent(id, start, start),
                new JobInitedEvent(id, start, maps, reduces, JobStatus.State.RUNNING.name(), false));
    }

    /** The tasks of one kind that were begun. */
    private final class Tasks {
        private final List<HistoryEvent> events = new ArrayList<>();
        private final Counters counters = new Counters();
        private final long endMillis;
        private int succeeded;
        private int failed;
        private int killed;

        Tasks(List<TaskState> tasks, long endMillis) {
            this.endMillis = endMillis;
            for (TaskState task : tasks) {
                if (attempts.containsKey(task.id())) {
                    add(task.id(), task.report(), attempts.get(task.id()));
                }
            }
        }

        private void add(TaskID id, TaskReport report, Map<TaskAttemptID, Tried> tries) {
            TaskType type = id.getTaskType();
            Counters counted = report.getTaskCounters();
            long start = tries.values().iterator().next().startMillis;
            events.add(new TaskStartedEvent(id, start, type, ""));
            TaskAttemptID best = report.getSuccessfulTaskAttemptId();
            Map.Entry<TaskAttemptID, Tried> last = null;
            for (Map.Entry<TaskAttemptID, Tried> each : tries.entrySet()) {
                last = each;
                addAttempt(each.getKey(), each.getValue(), each.getKey().equals(best) ? counted : new Counters());
            }
            long finish = finish(last.getValue());
            if (last.getValue().status == TaskCompletionEvent.Status.SUCCEEDED) {
                succeeded++;
                counters.incrAllCounters(counted);
                events.add(new TaskFinishedEvent(id, best, finish, type, SUCCEEDED, counted, start));
            } else if (last.getValue().status == TaskCompletionEvent.Status.TIPFAILED) {
                failed++;
                events.add(new TaskFailedEvent(
                        id, finish, type, last.getValue().error, FAILED, last.getKey(), counted, start));
            } else {
                killed++;
                events.add(new TaskFailedEvent(id, finish, type, "", KILLED, null, counted, start));
            }
        }

        private long finish(Tried tried) {
            return tried.finishMillis == 0 ? endMillis : tried.finishMillis;
        }

        private void addAttempt(TaskAttemptID id, Tried tried, Counters counted) {
            TaskType type = id.getTaskType();
            long start = tried.startMillis;
            long finish = finish(tried);
            events.add(new TaskAttemptStartedEvent(id, type, start, HOST, NO_PORT, NO_PORT, null, null));
            if (tried.status != TaskCompletionEvent.Status.SUCCEEDED) {
                String outcome = isFailure(tried.status) ? FAILED : KILLED;
                events.add(new TaskAttemptUnsuccessfulCompletionEvent(
                        id, type, outcome, finish, HOST, NO_PORT, "", tried.error, counted, null, start));
            } else if (type == TaskType.MAP) {
                events.add(new MapAttemptFinishedEvent(
                        id, type, SUCCEEDED, finish, finish, HOST, NO_PORT, "", "", counted, null, start));
            } else {
                events.add(new ReduceAttemptFinishedEvent(
                        id, type, SUCCEEDED, start, start, finish, HOST, NO_PORT, "", "", counted, null, start));
            }
        }
    }
}
