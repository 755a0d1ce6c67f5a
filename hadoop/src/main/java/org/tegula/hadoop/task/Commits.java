package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.TaskAttemptID;

/** Who commits what an attempt has written: the attempt itself, or the driver of its job in another JVM. */
@FunctionalInterface
public interface Commits {
    /**
     * Whether the driver commits the files of attempts whose committer is Hadoop's own, see {@link FileCommit}.
     *
     * @return false if attempts do
     */
    default boolean areFilesLeft() {
        return false;
    }

    /**
     * Whether an attempt that is about to commit is still waited for. If so, its task is not tried again until it has returned.
     *
     * @param attempt its name
     * @return false if another may have taken its place
     * @throws IOException if the driver does not answer
     */
    boolean mayCommit(TaskAttemptID attempt) throws IOException;
}
