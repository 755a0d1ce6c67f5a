package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A combiner may group keys by less than they are sorted by. Its key then stays the first one of the group under {@code mapred},
 * and goes along with the values under {@code mapreduce}.
 */
@Timeout(60)
class CombinerGroupsTest {
    @TempDir
    Path folder;

    @Test
    void theKeyStaysTheFirstOneUnderTheOldInterface() throws Exception {
        assertEquals("a1\t3\nb1\t2\n", run(Engines.LOCAL, OldSum.class));
        assertEquals("a1\t3\nb1\t2\n", run(Engines.TEGULA, OldSum.class));
    }

    @Test
    void theKeyGoesAlongWithTheValuesUnderTheNewInterface() throws Exception {
        assertEquals("a3\t3\nb2\t2\n", run(Engines.LOCAL, IntSumReducer.class));
        assertEquals("a3\t3\nb2\t2\n", run(Engines.TEGULA, IntSumReducer.class));
    }

    private String run(Engines engine, Class<?> combiner) throws Exception {
        Path in = Files.writeString(folder.resolve("in"), "a1 a2 a3 b1 b2\n");
        Path out = folder.resolve(engine.name());
        Job job = Jobs.wordCount(engine.conf(folder.resolve("tmp")), in, out);
        job.setReducerClass(Reducer.class);
        job.setCombinerKeyGroupingComparatorClass(FirstLetter.class);
        if (combiner == OldSum.class) {
            job.getConfiguration().unset(MRJobConfig.COMBINE_CLASS_ATTR);
            ((JobConf) job.getConfiguration()).setCombinerClass(OldSum.class);
        }
        assertTrue(job.waitForCompletion(false));
        return Files.readString(out.resolve("part-r-00000"));
    }

    static class OldSum extends MapReduceBase
            implements org.apache.hadoop.mapred.Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        public void reduce(
                Text key, Iterator<IntWritable> values, OutputCollector<Text, IntWritable> out, Reporter reporter)
                throws IOException {
            int sum = 0;
            while (values.hasNext()) {
                sum += values.next().get();
            }
            out.collect(key, new IntWritable(sum));
        }
    }

    @SuppressWarnings("rawtypes") // as WritableComparator is
    static class FirstLetter extends WritableComparator {
        FirstLetter() {
            super(Text.class, true);
        }

        @Override
        public int compare(WritableComparable left, WritableComparable right) {
            return left.toString().charAt(0) - right.toString().charAt(0);
        }
    }
}
