package org.tegula.hadoop.job;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskType;

/** The attempts of a job that have ended, in order, and the counters that follow from them. */
final class JobEvents {
    private final List<TaskCompletionEvent> events = new ArrayList<>();
    private final Counters counters = new Counters();

    synchronized void launched(TaskAttemptID attempt) {
        count(attempt, JobCounter.TOTAL_LAUNCHED_MAPS, JobCounter.TOTAL_LAUNCHED_REDUCES);
    }

    synchronized void ended(TaskAttemptID attempt, TaskCompletionEvent.Status status, int runMillis) {
        Event event = new Event(events.size(), attempt, status);
        event.setTaskRunTime(runMillis);
        events.add(event);
        if (status == TaskCompletionEvent.Status.KILLED) {
            count(attempt, JobCounter.NUM_KILLED_MAPS, JobCounter.NUM_KILLED_REDUCES);
        } else if (status != TaskCompletionEvent.Status.SUCCEEDED) {
            count(attempt, JobCounter.NUM_FAILED_MAPS, JobCounter.NUM_FAILED_REDUCES);
        }
    }

    private void count(TaskAttemptID attempt, JobCounter ofMaps, JobCounter ofReduces) {
        counters.incrCounter(attempt.getTaskType() == TaskType.MAP ? ofMaps : ofReduces, 1);
    }

    synchronized void addCounters(Counters sum) {
        sum.incrAllCounters(counters);
    }

    synchronized TaskCompletionEvent[] from(int first, int most) {
        int start = Math.min(first, events.size());
        int end = Math.min(events.size(), start + Math.max(0, most));
        return events.subList(start, end).toArray(TaskCompletionEvent[]::new);
    }

    /** Opens the setter, which is for Hadoop's own package. */
    private static final class Event extends TaskCompletionEvent {
        Event(int number, TaskAttemptID attempt, Status status) {
            super(number, attempt, attempt.getTaskID().getId(), attempt.getTaskType() == TaskType.MAP, status, "");
        }

        @Override
        public void setTaskRunTime(int millis) {
            super.setTaskRunTime(millis);
        }
    }
}
