package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.Reducer;
import org.apache.hadoop.mapred.Task;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.run.KeyOrders;

/** A reduce task of the {@code mapred} interface. Hadoop's own iterator reads groups from the merge. */
@SuppressWarnings({"unchecked", "rawtypes"}) // types of keys and values are known to the program alone
final class OldReduceAttempt extends ReduceAttempt {
    OldReduceAttempt(JobResources job, TaskAttemptID id, int home, Shuffled shuffled, int maps) {
        super(job, id, home, shuffled, maps);
    }

    @Override
    boolean usesNewInterface() {
        return false;
    }

    @Override
    void reduce(RawKeyValueIterator input) throws IOException {
        Reducer reducer = ReflectionUtils.newInstance(conf.getReducerClass(), conf);
        try (OldTrackedWriter writer = new OldTrackedWriter(this, TaskCounter.REDUCE_OUTPUT_RECORDS)) {
            try {
                reduceGroups(reducer, input, writer::write);
            } catch (Throwable e) {
                closeQuietly(reducer, e);
                throw e;
            }
            reducer.close();
            writer.finish();
        }
    }

    private static void closeQuietly(Reducer reducer, Throwable cause) {
        try {
            reducer.close();
        } catch (IOException | RuntimeException e) {
            cause.addSuppressed(e);
        }
    }

    private void reduceGroups(Reducer reducer, RawKeyValueIterator input, OutputCollector output) throws IOException {
        Counters.Counter groups = reporter.getCounter(TaskCounter.REDUCE_INPUT_GROUPS);
        Task.CombineValuesIterator values = new Task.CombineValuesIterator(
                input,
                KeyOrders.groups(conf),
                keyClass(),
                valueClass(),
                readingConf(null),
                reporter,
                reporter.getCounter(TaskCounter.REDUCE_INPUT_RECORDS));
        while (values.more()) {
            groups.increment(1);
            reducer.reduce(values.getKey(), values, output, reporter);
            values.nextKey();
        }
    }
}
