package org.tegula.hadoop.task;

import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.TaskAttemptID;

/** One try at a task as its job sees it: the task may run in this JVM, or at another place. */
public interface AttemptHandle {
    /**
     * Its name.
     *
     * @return the identity of the attempt
     */
    TaskAttemptID id();

    /**
     * Runs the task, and commits its output; returns when it has ended.
     *
     * @throws Exception if the program, or a file system, does; output is aborted then
     */
    void run() throws Exception;

    /** Asks the attempt to stop soon; the caller also interrupts the thread that is in {@link #run}. */
    void stop();

    /**
     * How long the attempt has given no sign of life. A sign since the last call counts as one of this moment.
     *
     * @return nanoseconds
     */
    long silentNanos();

    /**
     * Where it runs, for people.
     *
     * @return a text that follows another; empty for this JVM
     */
    default String where() {
        return "";
    }

    /** Asks for progress and counters as they are now. */
    void ask();

    /**
     * All counters of the attempt, as they were last known.
     *
     * @return counters that go on counting
     */
    Counters counters();

    /**
     * Returns the status that the program set last.
     *
     * @return its words
     */
    String status();

    /**
     * How far the task was when it last looked.
     *
     * @return from 0 to 1
     */
    float lastProgress();
}
