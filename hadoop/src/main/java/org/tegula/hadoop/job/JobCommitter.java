package org.tegula.hadoop.job;

import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskID;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.hadoop.util.ReflectionUtils;

/** Which committer a job has: that of the interface of those tasks that write its output. */
final class JobCommitter {
    private JobCommitter() {}

    static OutputCommitter of(JobConf conf, JobID job) throws Exception {
        boolean mapsWrite = conf.getNumReduceTasks() == 0;
        boolean isNew = mapsWrite ? conf.getUseNewMapper() : conf.getUseNewReducer();
        if (!isNew) {
            return conf.getOutputCommitter();
        }
        TaskAttemptID attempt = new TaskAttemptID(new TaskID(job, TaskType.MAP, 0), 0);
        TaskAttemptContext context = new TaskAttemptContextImpl(conf, attempt);
        OutputFormat<?, ?> format = ReflectionUtils.newInstance(context.getOutputFormatClass(), conf);
        return format.getOutputCommitter(context);
    }
}
