package org.tegula.hadoop.place;

import java.util.List;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.tegula.hadoop.task.AttemptHandle;

/** One job at one place: makes attempts, and has what they leave there. */
public interface PlaceJob {
    /** Something that was begun at a place, while other places do the same. */
    @FunctionalInterface
    interface Begun {
        /** What was done at once. */
        Begun DONE = () -> {};

        /**
         * Waits until it is done.
         *
         * @throws InterruptedException if the job is stopped
         */
        void await() throws InterruptedException;
    }

    /**
     * A new attempt of a map task.
     *
     * @param id its name
     * @param slot where it runs
     * @param split where its input split is written
     * @return an attempt that was not yet run
     */
    AttemptHandle map(TaskAttemptID id, int slot, JobSplit.TaskSplitIndex split);

    /**
     * A new attempt of a reduce task.
     *
     * @param id its name
     * @param home the slot where its partition belongs
     * @param outputs of the map tasks that have any, in their order
     * @param maps how many map tasks there were
     * @return an attempt that was not yet run
     */
    AttemptHandle reduce(TaskAttemptID id, int home, List<MapOutput> outputs, int maps);

    /**
     * The output of a map attempt that has succeeded.
     *
     * @param attempt of this place
     * @return runs, which the caller releases
     */
    MapOutput output(AttemptHandle attempt);

    /**
     * Counts an attempt to the job: its outputs are kept if the job succeeds.
     *
     * @param attempt of this place, which has succeeded
     */
    void accept(AttemptHandle attempt);

    /**
     * Takes back the results of an attempt that nobody waits for any more.
     *
     * @param attempt of this place
     */
    void discard(AttemptHandle attempt);

    /**
     * Begins to keep the pairs that the job has written, for later jobs: it was committed.
     *
     * @return what may still be awaited
     * @throws InterruptedException if the job is stopped
     */
    Begun keepWritten() throws InterruptedException;

    /**
     * Begins to give up everything of the job: no task of it runs any more.
     *
     * @return what may still be awaited
     */
    Begun end();
}
