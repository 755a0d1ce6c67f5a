package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.TaskAttemptID;

/** Who commits what an attempt has written: the attempt itself, or the driver of its job in another JVM. */
public interface Commits {
    /** Where the driver is in this JVM. */
    Commits BY_ATTEMPTS = new Commits() {
        @Override
        public boolean areFilesLeft() {
            return false;
        }

        @Override
        public boolean mayCommit(TaskAttemptID attempt) {
            return true;
        }
    };

    /**
     * Whether the driver commits the files of attempts whose committer is Hadoop's own, see {@link FileCommit}.
     *
     * @return false if attempts do
     */
    boolean areFilesLeft();

    /**
     * Whether an attempt that is about to commit is still waited for.
     *
     * @param attempt its name
     * @return false if another may have taken its place
     * @throws IOException if the driver does not answer
     */
    boolean mayCommit(TaskAttemptID attempt) throws IOException;
}
