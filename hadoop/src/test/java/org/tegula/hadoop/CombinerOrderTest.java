package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A combiner may rely on the order of its keys, and look at several: Pig limits its sorted output with one that keeps the first
 * few of each partition.
 */
@Timeout(120)
class CombinerOrderTest {
    private static final int MOST = 5;

    @TempDir
    Path folder;

    @Test
    void combinersThatKeepTheFirstKeysSeeThemInOrder() throws Exception {
        assertEquals(MOST, compare(FirstKeys.class, false));
    }

    @Test
    void combinersThatStopReadingSeeTheFirstKeys() throws Exception {
        assertEquals(MOST, compare(StopsEarly.class, false));
    }

    @Test
    void combinersOfTheOldInterfaceSeeKeysInOrder() throws Exception {
        assertEquals(MOST, compare(OldFirstKeys.class, false));
    }

    @Test
    void combinersThatEmitWhenTheyEndLoseNothing() throws Exception {
        assertTrue(compare(EmitsAtTheEnd.class, false) > MOST);
    }

    /** More values than are kept before they are combined. */
    @Test
    void keysAreInOrderHoweverOftenTheyAreCombined() throws Exception {
        assertEquals(MOST, compare(FirstKeys.class, true));
    }

    /** Both engines' outputs are the same; gives back how many records the combiner gave to the reducer. */
    private long compare(Class<?> combiner, boolean many) throws Exception {
        Path in = folder.resolve("in.txt");
        if (many) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 300_000; i++) {
                text.append(i * 7919L % 100_003).append(i % 2 == 0 ? " " : "\n");
            }
            Files.writeString(in, text);
        } else {
            Files.copy(Trees.documentation().resolve("words.md"), in);
        }
        Map<String, String> right = run(Engines.LOCAL, combiner, in).files();
        Result ours = run(Engines.TEGULA, combiner, in);
        assertEquals(right, ours.files());
        return ours.combined();
    }

    private record Result(Map<String, String> files, long combined) {}

    private Result run(Engines engine, Class<?> combiner, Path in) throws Exception {
        Path out = folder.resolve(engine.name());
        Job job = Jobs.wordCount(engine.conf(folder.resolve("tmp")), in, out);
        job.getConfiguration().unset("mapreduce.job.combine.class");
        if (Reducer.class.isAssignableFrom(combiner)) {
            job.getConfiguration().setClass("mapreduce.job.combine.class", combiner, Reducer.class);
        } else {
            job.getConfiguration().setClass("mapred.combiner.class", combiner, org.apache.hadoop.mapred.Reducer.class);
        }
        job.setReducerClass(FirstKeys.class);
        if (combiner == EmitsAtTheEnd.class) {
            job.setReducerClass(Sum.class);
        }
        job.setSortComparatorClass(Backwards.class);
        assertTrue(job.waitForCompletion(false));
        long combined = job.getCounters()
                .findCounter(TaskCounter.COMBINE_OUTPUT_RECORDS)
                .getValue();
        long reduced =
                job.getCounters().findCounter(TaskCounter.REDUCE_INPUT_RECORDS).getValue();
        assertTrue(combined >= reduced, combined + " were combined, " + reduced + " reduced");
        return new Result(Trees.read(out), reduced);
    }

    static class Backwards extends WritableComparator {
        Backwards() {
            super(Text.class, true);
        }

        @Override
        @SuppressWarnings({"rawtypes", "unchecked"})
        public int compare(WritableComparable left, WritableComparable right) {
            return right.compareTo(left);
        }
    }

    static class Sum extends Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            context.write(key, sum(values.iterator()));
        }

        static IntWritable sum(Iterator<IntWritable> values) {
            int sum = 0;
            while (values.hasNext()) {
                sum += values.next().get();
            }
            return new IntWritable(sum);
        }
    }

    static class FirstKeys extends Sum {
        private int seen;

        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            if (seen++ < MOST) {
                super.reduce(key, values, context);
            }
        }
    }

    static class StopsEarly extends Sum {
        @Override
        public void run(Context context) throws IOException, InterruptedException {
            for (int seen = 0; seen < MOST && context.nextKey(); seen++) {
                reduce(context.getCurrentKey(), context.getValues(), context);
            }
        }
    }

    static class EmitsAtTheEnd extends Sum {
        private final Map<Text, IntWritable> sums = new TreeMap<>(Comparator.reverseOrder());

        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context) {
            sums.put(new Text(key), sum(values.iterator()));
        }

        @Override
        protected void cleanup(Context context) throws IOException, InterruptedException {
            for (Map.Entry<Text, IntWritable> each : sums.entrySet()) {
                context.write(each.getKey(), each.getValue());
            }
        }
    }

    static class OldFirstKeys extends MapReduceBase
            implements org.apache.hadoop.mapred.Reducer<Text, IntWritable, Text, IntWritable> {
        private int seen;

        @Override
        public void reduce(
                Text key, Iterator<IntWritable> values, OutputCollector<Text, IntWritable> out, Reporter reporter)
                throws IOException {
            if (seen++ < MOST) {
                out.collect(key, Sum.sum(values));
            }
        }
    }
}
