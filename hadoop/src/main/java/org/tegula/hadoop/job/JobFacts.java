package org.tegula.hadoop.job;

import org.apache.hadoop.mapred.TaskID;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;

/** The facts about a job for clients, whether the engine knows it or only its history is left. */
public interface JobFacts {
    /**
     * How far the job is.
     *
     * @return its status at this moment
     */
    JobStatus status();

    /**
     * The sum over all tasks: of attempts that succeeded or run.
     *
     * @return counters of their own
     */
    Counters counters();

    /**
     * The tasks of one kind.
     *
     * @param type maps or reduces
     * @return a report for each
     */
    TaskReport[] reports(TaskType type);

    /**
     * The attempts that have ended.
     *
     * @param first the number of the first that is wanted
     * @param most how many are wanted
     * @return as many of them as there are
     */
    TaskCompletionEvent[] events(int first, int most);

    /**
     * Returns the faults of a task.
     *
     * @param task which
     * @return a text for each attempt that failed
     */
    String[] diagnostics(TaskID task);
}
