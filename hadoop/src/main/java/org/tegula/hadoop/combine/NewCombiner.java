package org.tegula.hadoop.combine;

import java.io.IOException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.reduce.WrappedReducer;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.task.TaskReporter;

/** A combiner of the {@code mapreduce} interface. */
final class NewCombiner<K, V> extends Combiner<K, V> {
    private final Class<?> type;
    private final TaskAttemptID task;
    private final OutputCommitter committer;

    NewCombiner(JobConf conf, Class<?> type, TaskAttemptID task, OutputCommitter committer, TaskReporter reporter) {
        super(conf, reporter);
        this.type = type;
        this.task = task;
        this.committer = committer;
    }

    @Override
    boolean keysGoAlong() {
        return true;
    }

    @Override
    @SuppressWarnings("unchecked")
    void run(PairReader<K, V> pairs, PairSink<K, V> sink) throws IOException, InterruptedException {
        Reducer<K, V, K, V> combiner = (Reducer<K, V, K, V>) ReflectionUtils.newInstance(type, conf);
        CombineContext<K, V> context =
                new CombineContext<>(pairs, conf, task, new SinkWriter<>(sink), committer, reporter);
        combiner.run(new WrappedReducer<K, V, K, V>().getReducerContext(context));
    }

    private static final class SinkWriter<K, V> extends RecordWriter<K, V> {
        private final PairSink<K, V> sink;

        SinkWriter(PairSink<K, V> sink) {
            this.sink = sink;
        }

        @Override
        public void write(K key, V value) throws IOException {
            sink.accept(key, value);
        }

        @Override
        public void close(TaskAttemptContext context) {}
    }
}
