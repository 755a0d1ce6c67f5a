package org.tegula.hadoop.job;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.TIPStatus;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskID;
import org.apache.hadoop.mapreduce.TaskReport;
import org.tegula.hadoop.task.AttemptHandle;

/**
 * The state of one task and its attempts; it may be read at any time. It keeps no more of an attempt that has ended, because
 * jobs are remembered long after they ended.
 */
final class TaskState {
    private final TaskID id;
    private final List<String> diagnostics = new ArrayList<>();
    private TIPStatus status = TIPStatus.PENDING;
    /** The one that runs. */
    private AttemptHandle attempt;

    private TaskAttemptID last;
    private Counters counters = new Counters();
    private String words = "";
    private int attempts;
    private int failures;
    private long startMillis;
    private long finishMillis;

    /** The attempts of a job that is run again go on with other numbers, as those of Hadoop do. */
    TaskState(TaskID id, int firstAttempt) {
        this.id = id;
        this.attempts = firstAttempt;
    }

    TaskID id() {
        return id;
    }

    synchronized TaskAttemptID nextAttempt() {
        return new TaskAttemptID(id, attempts++);
    }

    synchronized void begin(AttemptHandle begun) {
        attempt = begun;
        last = begun.id();
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

    private void end(TIPStatus outcome) {
        if (attempt != null) {
            words = attempt.status();
            counters = outcome == TIPStatus.COMPLETE ? attempt.counters() : new Counters();
            attempt = null;
        }
        status = outcome;
        finishMillis = System.currentTimeMillis();
    }

    /** Notes a failed attempt; gives back how many there are now. */
    synchronized int fail(String diagnosis) {
        diagnostics.add(diagnosis);
        end(TIPStatus.FAILED);
        return ++failures;
    }

    synchronized int runMillis() {
        return startMillis == 0 ? 0 : (int) (finishMillis - startMillis);
    }

    synchronized String[] diagnostics() {
        return diagnostics.toArray(String[]::new);
    }

    /** Adds the counters of the attempt that counts: not those of one that failed. */
    synchronized void addCounters(Counters sum) {
        if (attempt != null) {
            attempt.ask();
        }
        sum.incrAllCounters(attempt == null ? counters : attempt.counters());
    }

    synchronized float progress() {
        if (status == TIPStatus.COMPLETE) {
            return 1;
        }
        if (attempt == null) {
            return 0;
        }
        attempt.ask();
        return attempt.lastProgress();
    }

    synchronized TaskReport report() {
        Counters sum = new Counters();
        addCounters(sum);
        Report report = new Report(sum);
        report.times(startMillis, finishMillis);
        if (status == TIPStatus.COMPLETE) {
            report.setSuccessfulAttemptId(last);
        } else if (status == TIPStatus.RUNNING) {
            report.setRunningTaskAttemptIds(List.of(last));
        }
        return report;
    }

    /** Opens the setters, which are for Hadoop's own package. */
    private final class Report extends TaskReport {
        Report(Counters sum) {
            super(
                    id,
                    progress(),
                    attempt == null ? words : attempt.status(),
                    diagnostics(),
                    status,
                    0,
                    0,
                    new org.apache.hadoop.mapreduce.Counters(sum));
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
