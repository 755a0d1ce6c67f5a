package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.NullOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.PlacedSplit;
import org.tegula.hadoop.engine.Engine;

/** Job after job, a partition is worked on in one slot: when it is reduced, and when its output is read. */
@Timeout(60)
class PlacementTest {
    private static final Map<String, String> SLOTS = new ConcurrentHashMap<>();
    private static int partitions;
    private static CyclicBarrier together;

    @TempDir
    Path folder;

    private Configuration conf;

    @BeforeEach
    void configure() {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        partitions = Engine.shared(conf).slots().count();
        together = new CyclicBarrier(partitions);
        SLOTS.clear();
    }

    /** All tasks of a stage run at once, so that none has to go where a slot is free. */
    private static void note(String stage, int partition) {
        try {
            together.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
        SLOTS.put(stage + partition, Thread.currentThread().getName().split(" in slot ")[1]);
    }

    /** One number for each partition. */
    static class Numbers extends Mapper<LongWritable, Text, IntWritable, IntWritable> {
        @Override
        protected void map(LongWritable place, Text line, Context context) {}

        @Override
        protected void cleanup(Context context) throws IOException, InterruptedException {
            for (int i = 0; i < partitions; i++) {
                context.write(new IntWritable(i), new IntWritable(i));
            }
        }
    }

    static class Noting extends Reducer<IntWritable, IntWritable, IntWritable, IntWritable> {
        @Override
        protected void reduce(IntWritable key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            note(context.getConfiguration().get("stage"), key.get());
            context.write(key, key);
        }
    }

    static class Reading extends Mapper<IntWritable, IntWritable, IntWritable, IntWritable> {
        @Override
        protected void map(IntWritable key, IntWritable value, Context context)
                throws IOException, InterruptedException {
            note("read", key.get());
            context.write(key, value);
        }
    }

    private Job job(String stage, Path in, Path out) throws IOException {
        Job job = Job.getInstance(conf);
        job.getConfiguration().set("stage", stage);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setReducerClass(Noting.class);
        job.setNumReduceTasks(partitions);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(IntWritable.class);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(in.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(out.toUri()));
        return job;
    }

    @Test
    void readsPartsWhereTheyWereWritten() throws Exception {
        Job first = job("write", Trees.documentation().resolve("words.md"), folder.resolve("first"));
        first.setMapperClass(Numbers.class);
        assertTrue(first.waitForCompletion(false));
        for (int round = 0; round < 3; round++) {
            Job next = job("again", folder.resolve("first"), folder.resolve("next" + round));
            next.setInputFormatClass(SequenceFileInputFormat.class);
            next.setMapperClass(Reading.class);
            assertTrue(next.waitForCompletion(false));
            for (int i = 0; i < partitions; i++) {
                assertEquals(SLOTS.get("write" + i), SLOTS.get("read" + i), "read " + i);
                assertEquals(SLOTS.get("write" + i), SLOTS.get("again" + i), "reduced " + i);
            }
        }
    }

    @Test
    void readsSplitsInTheSlotThatTheyName() throws Exception {
        Job first = job("write", Trees.documentation().resolve("words.md"), folder.resolve("first"));
        first.setMapperClass(Numbers.class);
        assertTrue(first.waitForCompletion(false));
        Job placed = Job.getInstance(conf);
        placed.setInputFormatClass(Backwards.class);
        placed.setMapperClass(Reading.class);
        placed.setOutputFormatClass(NullOutputFormat.class);
        placed.setNumReduceTasks(0);
        placed.getConfiguration().setInt(MRJobConfig.MAP_MAX_ATTEMPTS, 1);
        assertTrue(placed.waitForCompletion(false));
        for (int i = 0; i < partitions; i++) {
            assertEquals(SLOTS.get("write" + i), SLOTS.get("read" + i), "read " + i);
        }
    }

    /** Belongs to a partition, and has its number. */
    public static final class NumberSplit extends InputSplit implements Writable, PlacedSplit {
        private int partition;

        @Override
        public int getPartition() {
            return partition;
        }

        @Override
        public long getLength() {
            return 1;
        }

        @Override
        public String[] getLocations() {
            return new String[0];
        }

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeInt(partition);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            partition = in.readInt();
        }
    }

    /** A split for each partition, the last partition first. */
    public static final class Backwards extends InputFormat<IntWritable, IntWritable> {
        @Override
        public List<InputSplit> getSplits(JobContext context) {
            List<InputSplit> splits = new ArrayList<>();
            for (int i = partitions - 1; i >= 0; i--) {
                NumberSplit split = new NumberSplit();
                split.partition = i;
                splits.add(split);
            }
            return splits;
        }

        @Override
        public RecordReader<IntWritable, IntWritable> createRecordReader(InputSplit split, TaskAttemptContext task) {
            IntWritable number = new IntWritable(((NumberSplit) split).partition);
            return new RecordReader<>() {
                private int left = 1;

                @Override
                public void initialize(InputSplit ignored, TaskAttemptContext context) {}

                @Override
                public boolean nextKeyValue() {
                    return left-- > 0;
                }

                @Override
                public IntWritable getCurrentKey() {
                    return number;
                }

                @Override
                public IntWritable getCurrentValue() {
                    return number;
                }

                @Override
                public float getProgress() {
                    return 0;
                }

                @Override
                public void close() {}
            };
        }
    }
}
