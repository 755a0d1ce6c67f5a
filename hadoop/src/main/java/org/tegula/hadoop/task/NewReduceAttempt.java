package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.reduce.WrappedReducer;
import org.apache.hadoop.mapreduce.task.ReduceContextImpl;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.live.GroupKey;
import org.tegula.hadoop.run.KeyOrders;

/** A reduce task of the {@code mapreduce} interface. Hadoop's own context reads groups from the merge. */
@SuppressWarnings({"unchecked", "rawtypes"}) // types of keys and values are known to the program alone
final class NewReduceAttempt extends ReduceAttempt {
    private GroupKey groupKey;

    NewReduceAttempt(JobResources job, TaskAttemptID id, int home, Shuffled shuffled, int maps) {
        super(job, id, home, shuffled, maps);
    }

    @Override
    Object kept(Object emitted) throws IOException {
        return groupKey == null ? emitted : groupKey.kept(emitted);
    }

    @Override
    boolean usesNewInterface() {
        return true;
    }

    @Override
    void reduce(RawKeyValueIterator input) throws IOException, InterruptedException, ClassNotFoundException {
        TaskAttemptContext context = new TaskAttemptContextImpl(conf, id, reporter);
        Reducer reducer = ReflectionUtils.newInstance(context.getReducerClass(), conf);
        groupKey = promises() ? GroupKey.of(conf) : null;
        conf.setStrings(MRConfig.LOCAL_DIR, job.disk().ofTask(id.toString()));
        NewTrackedWriter writer =
                new NewTrackedWriter(newOutputFormat, context, this, TaskCounter.REDUCE_OUTPUT_RECORDS);
        try {
            ReduceContextImpl reduceContext =
                    new ReduceContextImpl(
                            readingConf(groupKey),
                            id,
                            input,
                            reporter.getCounter(TaskCounter.REDUCE_INPUT_GROUPS),
                            reporter.getCounter(TaskCounter.REDUCE_INPUT_RECORDS),
                            writer,
                            committer,
                            reporter,
                            groupKey == null ? KeyOrders.groups(conf) : groupKey,
                            keyClass(),
                            valueClass()) {
                        @Override
                        public Configuration getConfiguration() {
                            return NewReduceAttempt.this.conf;
                        }
                    };
            reducer.run(new WrappedReducer().getReducerContext(reduceContext));
            writer.close(context);
        } finally {
            writer.closeQuietly(context);
            job.disk().deleteOfTask(id.toString());
        }
    }
}
