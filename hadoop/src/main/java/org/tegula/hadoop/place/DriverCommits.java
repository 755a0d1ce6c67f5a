package org.tegula.hadoop.place;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.tegula.hadoop.task.Commits;

/** The driver commits files, and is asked before anything else is committed: a place that it has given up commits nothing. */
record DriverCommits(Calls driver) implements Commits {
    @Override
    public boolean areFilesLeft() {
        return true;
    }

    @Override
    public boolean mayCommit(TaskAttemptID attempt) throws IOException {
        try {
            return driver.send(Op.MAY_COMMIT, out -> out.writeUTF(attempt.toString()))
                    .get()
                    .readBoolean();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("The task was stopped").initCause(e);
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        }
    }
}
