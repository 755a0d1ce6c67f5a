package org.tegula.hadoop.task;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.collect.CollectContext;
import org.tegula.hadoop.collect.Collector;
import org.tegula.hadoop.combine.Combiner;
import org.tegula.hadoop.live.LiveWriter;
import org.tegula.hadoop.live.Promises;
import org.tegula.hadoop.run.Run;

/** One try at a map task, of either interface. */
public abstract class MapAttempt extends Attempt {
    private static final Logger LOG = LoggerFactory.getLogger(MapAttempt.class);
    private static final float MAP_SHARE = 0.667f;

    final JobSplit.TaskSplitIndex split;
    private LiveWriter live;
    private List<Run> output = List.of();

    MapAttempt(JobResources job, TaskAttemptID id, int slot, JobSplit.TaskSplitIndex split) {
        super(job, id, slot);
        this.split = split;
    }

    /**
     * An attempt of the interface that the job uses.
     *
     * @param job the shared resources
     * @param id its name
     * @param slot that it runs in
     * @param split where its input split is written
     * @return an attempt that was not yet run
     */
    public static MapAttempt of(JobResources job, TaskAttemptID id, int slot, JobSplit.TaskSplitIndex split) {
        return job.conf().getUseNewMapper()
                ? new NewMapAttempt(job, id, slot, split)
                : new OldMapAttempt(job, id, slot, split);
    }

    /**
     * Returns the map's output, once the attempt has run.
     *
     * @return runs, which the caller releases; none if there is no reduce
     */
    public final List<Run> output() {
        return output;
    }

    @Override
    final void work() throws Exception {
        if (conf.getNumReduceTasks() == 0) {
            mapToOutput();
            return;
        }
        Combiner<Object, Object> combiner = Combiner.of(conf, id, committer, reporter);
        live = Promises.passObjects(conf) ? new LiveWriter(job.live(), known) : null;
        CollectContext<Object, Object> context = new CollectContext<>(
                conf, reporter, combiner, job.memory(), job.disk(), job.bufferBytes(), live, job.spare());
        try (Collector<Object, Object> collector = context.collector()) {
            mapToRuns(collector);
            List<Run> runs = collector.finish();
            count(runs);
            output = runs;
        }
    }

    @Override
    final boolean promises() {
        return Promises.isMadeByMapper(conf, id);
    }

    /** Returns the way to read the split; objects may be passed on if its mapper promises not to change them. */
    final Inputs inputs(Object input) {
        boolean promised = Promises.isMadeByMapper(conf, input);
        if (promised && live != null) {
            live.promise();
        }
        return new Inputs(job.cache(), conf, reporter, home, promised && !Promises.hasOwnRunner(conf), known);
    }

    private void count(List<Run> runs) {
        long bytes = 0;
        for (Run run : runs) {
            for (int partition = 0; partition < conf.getNumReduceTasks(); partition++) {
                bytes += run.bytes(partition);
            }
        }
        reporter.getCounter(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES).increment(bytes);
    }

    /** Something that knows how much of the input was read. */
    interface Position {
        float get() throws IOException, InterruptedException;
    }

    /** Takes progress from the input; if there is a reduce, the work after the map counts as a third, as in Hadoop. */
    final void watch(Position position) {
        float share = conf.getNumReduceTasks() == 0 ? 1 : MAP_SHARE;
        reporter.setPosition(() -> {
            try {
                return share * position.get();
            } catch (IOException | InterruptedException e) {
                LOG.debug("{} does not know its progress", id, e);
                return reporter.lastProgress();
            }
        });
    }

    abstract void mapToOutput() throws IOException, InterruptedException, ClassNotFoundException;

    abstract void mapToRuns(Collector<Object, Object> collector)
            throws IOException, InterruptedException, ClassNotFoundException;
}
