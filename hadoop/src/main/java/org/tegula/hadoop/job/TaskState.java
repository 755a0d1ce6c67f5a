package org.tegula.hadoop.job;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.TIPStatus;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskID;
import org.apache.hadoop.mapreduce.TaskReport;
import org.tegula.hadoop.task.Attempt;

/** What is known of one task and its attempts; it may be asked at any time. */
final class TaskState {
    private final TaskID id;
    private final List<String> diagnostics = new ArrayList<>();
    private TIPStatus status = TIPStatus.PENDING;
    private Attempt attempt;
    private int attempts;
    private int failures;
    private long startMillis;
    private long finishMillis;

    TaskState(TaskID id) {
        this.id = id;
    }

    TaskID id() {
        return id;
    }

    synchronized TaskAttemptID nextAttempt() {
        return new TaskAttemptID(id, attempts++);
    }

    synchronized void begin(Attempt begun) {
        attempt = begun;
        status = TIPStatus.RUNNING;
        if (startMillis == 0) {
            startMillis = System.currentTimeMillis();
        }
    }

    synchronized void succeed() {
        end(TIPStatus.COMPLETE);
    }

    synchronized void kill() {
        end(TIPStatus.KILLED);
    }

    private void end(TIPStatus last) {
        status = last;
        finishMillis = System.currentTimeMillis();
    }

    /** Notes a failed attempt; gives back how many there are now. */
    synchronized int fail(String diagnosis) {
        diagnostics.add(diagnosis);
        end(TIPStatus.FAILED);
        return ++failures;
    }

    synchronized void note(String diagnosis) {
        diagnostics.add(diagnosis);
    }

    synchronized boolean hasSucceeded() {
        return status == TIPStatus.COMPLETE;
    }

    synchronized Attempt attempt() {
        return attempt;
    }

    synchronized int runMillis() {
        return (int) (finishMillis - startMillis);
    }

    synchronized String[] diagnostics() {
        return diagnostics.toArray(String[]::new);
    }

    /** Adds the counters of the attempt that counts: not those of one that failed. */
    synchronized void addCounters(Counters sum) {
        if (attempt != null && (status == TIPStatus.COMPLETE || status == TIPStatus.RUNNING)) {
            sum.incrAllCounters(attempt.reporter().counters());
        }
    }

    synchronized float progress() {
        if (status == TIPStatus.COMPLETE) {
            return 1;
        }
        return status == TIPStatus.RUNNING ? attempt.reporter().lastProgress() : 0;
    }

    synchronized TaskReport report() {
        Counters counters = new Counters();
        addCounters(counters);
        Report report = new Report(counters);
        report.times(startMillis, finishMillis);
        if (status == TIPStatus.COMPLETE) {
            report.setSuccessfulAttemptId(attempt.id());
        } else if (status == TIPStatus.RUNNING) {
            report.setRunningTaskAttemptIds(List.of(attempt.id()));
        }
        return report;
    }

    /** Opens the setters, which are for Hadoop's own package. */
    private final class Report extends TaskReport {
        Report(Counters counters) {
            super(
                    id,
                    progress(),
                    attempt == null ? "" : attempt.reporter().status(),
                    diagnostics(),
                    status,
                    0,
                    0,
                    new org.apache.hadoop.mapreduce.Counters(counters));
        }

        void times(long start, long finish) {
            setStartTime(start);
            setFinishTime(finish);
        }

        @Override
        public void setSuccessfulAttemptId(org.apache.hadoop.mapreduce.TaskAttemptID attempt) {
            super.setSuccessfulAttemptId(attempt);
        }

        @Override
        public void setRunningTaskAttemptIds(Collection<org.apache.hadoop.mapreduce.TaskAttemptID> attempts) {
            super.setRunningTaskAttemptIds(attempts);
        }
    }
}
