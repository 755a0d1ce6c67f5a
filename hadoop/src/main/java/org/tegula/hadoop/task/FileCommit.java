package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What Hadoop's own committer does for a task: it renames files, so that any JVM can do it that sees them. The driver has the
 * names of files in memory, and knows which attempt counts.
 */
public final class FileCommit {
    private static final Logger LOG = LoggerFactory.getLogger(FileCommit.class);

    private FileCommit() {}

    /** Whether a committer is Hadoop's own, for the output folder of the job, so that {@link #run} does the same. */
    static boolean is(OutputCommitter committer, org.apache.hadoop.mapred.TaskAttemptContext context, JobConf job)
            throws IOException {
        Path output = FileOutputFormat.getOutputPath(job);
        Path work = null;
        if (committer.getClass() == FileOutputCommitter.class) {
            work = ((FileOutputCommitter) committer).getWorkPath();
        } else if (committer.getClass() == org.apache.hadoop.mapred.FileOutputCommitter.class) {
            work = ((org.apache.hadoop.mapred.FileOutputCommitter) committer).getTaskAttemptPath(context);
        }
        if (output == null || work == null) {
            return false;
        }
        FileSystem files = output.getFileSystem(job);
        return files.makeQualified(FileOutputCommitter.getTaskAttemptPath(context, output))
                .equals(files.makeQualified(work));
    }

    /**
     * Commits what an attempt has written; aborts it if that fails, or the attempt was stopped.
     *
     * @param job the configuration of the job
     * @param attempt its name
     * @param commits whom to ask whether it is still waited for
     * @param progress is run as long as files are renamed
     * @throws IOException if a file cannot be renamed
     * @throws InterruptedException if the attempt was stopped
     */
    public static void run(JobConf job, TaskAttemptID attempt, Commits commits, Runnable progress)
            throws IOException, InterruptedException {
        TaskAttemptContext context = new TaskAttemptContextImpl(job, attempt) {
            @Override
            public void progress() {
                progress.run();
            }
        };
        FileOutputCommitter committer = new FileOutputCommitter(FileOutputFormat.getOutputPath(job), context);
        try {
            if (!commits.mayCommit(attempt)) {
                throw new InterruptedException("The attempt was stopped before it was committed");
            }
            if (committer.needsTaskCommit(context)) {
                committer.commitTask(context);
            }
        } catch (IOException | InterruptedException | RuntimeException e) {
            abort(committer, context);
            throw e;
        }
    }

    /** Gives up what an attempt has written, and says so in the log if it cannot. */
    static void abort(OutputCommitter committer, TaskAttemptContext context) {
        try {
            committer.abortTask(context);
        } catch (IOException | RuntimeException e) {
            LOG.warn("The output of {} could not be aborted", context.getTaskAttemptID(), e);
        }
    }
}
