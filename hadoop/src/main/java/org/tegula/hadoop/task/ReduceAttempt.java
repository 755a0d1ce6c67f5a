package org.tegula.hadoop.task;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.Progress;
import org.tegula.hadoop.live.GroupKey;
import org.tegula.hadoop.live.LiveConf;
import org.tegula.hadoop.live.LivePair;
import org.tegula.hadoop.live.Promises;
import org.tegula.hadoop.run.KeyOrders;
import org.tegula.hadoop.run.Merge;
import org.tegula.hadoop.run.Run;

/** One try at a reduce task, of either interface. */
public abstract class ReduceAttempt extends Attempt {
    private static final float SHUFFLED = 2f / 3;

    private final Shuffled shuffled;
    private final int maps;
    private LivePair live;

    ReduceAttempt(JobResources job, TaskAttemptID id, int home, Shuffled shuffled, int maps) {
        super(job, id, home);
        this.shuffled = shuffled;
        this.maps = maps;
    }

    /**
     * An attempt of the interface that the job uses.
     *
     * @param job the shared resources
     * @param id its name
     * @param shuffled the output of all map tasks
     * @param home the slot where its data are
     * @param maps how many map tasks there were
     * @return an attempt that was not yet run
     */
    public static ReduceAttempt of(JobResources job, TaskAttemptID id, int home, Shuffled shuffled, int maps) {
        return job.conf().getUseNewReducer()
                ? new NewReduceAttempt(job, id, home, shuffled, maps)
                : new OldReduceAttempt(job, id, home, shuffled, maps);
    }

    @Override
    final void work() throws Exception {
        conf.setNumMapTasks(maps);
        reporter.getCounter(TaskCounter.SHUFFLED_MAPS).increment(maps);
        reporter.getCounter(TaskCounter.MERGED_MAP_OUTPUTS).increment(maps);
        live = promises() && Promises.passObjects(conf) ? new LivePair(job.live()) : null;
        int partition = id.getTaskID().getId();
        List<Run> runs = shuffled.runs(partition, reporter);
        RawComparator<?> order = KeyOrders.sort(conf);
        try (Merge merge = Merge.open(runs, partition, order, job.disk(), reporter)) {
            reporter.getCounter(TaskCounter.REDUCE_SHUFFLE_BYTES).increment(merge.totalBytes());
            reporter.setPosition(() -> SHUFFLED + (1 - SHUFFLED) * merge.fraction());
            reduce(new Watched(merge));
        }
    }

    @Override
    final boolean promises() {
        return Promises.isMadeByReducer(conf);
    }

    /**
     * Returns the configuration for Hadoop's iterators: if the reducer does not change objects, each pair gets its own.
     *
     * @param groupKey the key that changes within a group; null if none does
     */
    final JobConf readingConf(GroupKey groupKey) {
        return promises() ? new LiveConf(conf, live, known, groupKey) : conf;
    }

    final Class<?> keyClass() {
        return promises() ? LiveConf.Key.class : conf.getMapOutputKeyClass();
    }

    final Class<?> valueClass() {
        return promises() ? LiveConf.Value.class : conf.getMapOutputValueClass();
    }

    abstract void reduce(RawKeyValueIterator input) throws IOException, InterruptedException, ClassNotFoundException;

    /** Passes the merge's progress on, and ends a reduce that was told to stop. */
    private final class Watched implements RawKeyValueIterator {
        private final Merge merge;
        private int asks;

        Watched(Merge merge) {
            this.merge = merge;
        }

        @Override
        public boolean next() throws IOException {
            reporter.check();
            if (asks != reporter.asks()) {
                asks = reporter.asks();
                reporter.updateProgress();
            }
            boolean found = merge.next();
            if (found && live != null) {
                live.moveTo(merge.getValue());
            }
            return found;
        }

        @Override
        public DataInputBuffer getKey() {
            return merge.getKey();
        }

        @Override
        public DataInputBuffer getValue() {
            return merge.getValue();
        }

        @Override
        public Progress getProgress() {
            return merge.getProgress();
        }

        @Override
        public void close() throws IOException {
            merge.close();
        }
    }
}
