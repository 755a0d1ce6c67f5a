package org.tegula.hadoop.task;

import java.io.IOException;
import java.util.List;
import org.tegula.hadoop.run.Run;

/** The output of all maps of a job, for its reduces at one place. */
@FunctionalInterface
public interface Shuffled {
    /**
     * Brings what a reduce reads to its place, unless it is there.
     *
     * @param partition of the reduce
     * @param reporter of the reduce
     * @return runs in the order of their map tasks; the caller does not release them
     * @throws IOException if the output of a map cannot be had
     * @throws InterruptedException if the reduce is to stop
     */
    List<Run> runs(int partition, TaskReporter reporter) throws IOException, InterruptedException;
}
