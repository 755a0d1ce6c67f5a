package org.tegula.hadoop.combine;

import java.io.IOException;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.tegula.hadoop.task.TaskReporter;

/**
 * A job's combiner, of either interface.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public abstract class Combiner<K, V> {
    final JobConf conf;
    final TaskReporter reporter;
    private final SerializationFactory factory;
    private final Counters.Counter inputs;
    private final Counters.Counter outputs;

    Combiner(JobConf conf, TaskReporter reporter) {
        this.conf = conf;
        this.reporter = reporter;
        this.factory = new SerializationFactory(conf);
        this.inputs = reporter.getCounter(TaskCounter.COMBINE_INPUT_RECORDS);
        this.outputs = reporter.getCounter(TaskCounter.COMBINE_OUTPUT_RECORDS);
    }

    /**
     * The combiner that a job names.
     *
     * @param conf the configuration of the task
     * @param task that it serves
     * @param committer of the task
     * @param reporter takes counters
     * @param <K> the type of keys
     * @param <V> the type of values
     * @return null if the job has none
     * @throws ClassNotFoundException if its class is missing
     */
    public static <K, V> Combiner<K, V> of(
            JobConf conf, TaskAttemptID task, OutputCommitter committer, TaskReporter reporter)
            throws ClassNotFoundException {
        if (conf.getCombinerClass() != null) {
            return new OldCombiner<>(conf, reporter);
        }
        String name = conf.get(JobContext.COMBINE_CLASS_ATTR);
        if (name == null) {
            return null;
        }
        return new NewCombiner<>(conf, conf.getClassByName(name), task, committer, reporter);
    }

    /**
     * Combines all of some groups of one partition, with an instance of its own.
     *
     * @param groups to combine
     * @param sink takes the emitted pairs
     * @throws IOException if the combiner does, or pairs cannot be read or kept
     * @throws InterruptedException if the task is stopped
     */
    public final void combine(Groups groups, PairSink<K, V> sink) throws IOException, InterruptedException {
        long[] emitted = {0};
        PairReader<K, V> pairs = new PairReader<>(groups, keysGoAlong(), factory, conf, inputs, reporter);
        run(pairs, (key, value) -> {
            emitted[0]++;
            reporter.progress();
            sink.accept(key, value);
        });
        pairs.finish();
        outputs.increment(emitted[0]);
    }

    /** Whether the key changes with the values of its group. */
    abstract boolean keysGoAlong();

    abstract void run(PairReader<K, V> pairs, PairSink<K, V> sink) throws IOException, InterruptedException;
}
