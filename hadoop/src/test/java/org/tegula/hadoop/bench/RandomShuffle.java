package org.tegula.hadoop.bench;

import java.io.IOException;
import java.util.Random;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.NLineInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** Draws pairs of random bytes in maps, and looks in reduces whether all have come, in order and undamaged. */
public final class RandomShuffle extends Configured implements Tool {
    private static final int KEY_BYTES = 10;
    private static final int VALUE_BYTES = 86;

    private RandomShuffle() {}

    enum Sum {
        EMITTED,
        SEEN,
        DISORDER
    }

    private static long checksum(BytesWritable key, BytesWritable value) {
        CRC32 sum = new CRC32();
        sum.update(key.getBytes(), 0, key.getLength());
        sum.update(value.getBytes(), 0, value.getLength());
        return sum.getValue();
    }

    /** Draws as many pairs as a line of its input says. */
    public static final class Draws extends Mapper<LongWritable, Text, BytesWritable, BytesWritable> {
        /** Made by Hadoop. */
        public Draws() {}

        @Override
        protected void map(LongWritable place, Text pairs, Context context) throws IOException, InterruptedException {
            Random random = new Random(context.getTaskAttemptID().getTaskID().getId());
            BytesWritable key = new BytesWritable(new byte[KEY_BYTES]);
            BytesWritable value = new BytesWritable(new byte[VALUE_BYTES]);
            long sum = 0;
            for (int left = Integer.parseInt(pairs.toString()); left > 0; left--) {
                random.nextBytes(key.getBytes());
                random.nextBytes(value.getBytes());
                sum += checksum(key, value);
                context.write(key, value);
            }
            context.getCounter(Sum.EMITTED).increment(sum);
        }
    }

    /** Looks at pairs. */
    public static final class Looks extends Reducer<BytesWritable, BytesWritable, NullWritable, NullWritable> {
        private final BytesWritable last = new BytesWritable();
        private long sum;
        private long disorder;

        /** Made by Hadoop. */
        public Looks() {}

        @Override
        protected void reduce(BytesWritable key, Iterable<BytesWritable> values, Context context) {
            if (key.compareTo(last) < 0) {
                disorder++;
            }
            last.set(key);
            for (BytesWritable value : values) {
                sum += checksum(key, value);
            }
        }

        @Override
        protected void cleanup(Context context) {
            context.getCounter(Sum.SEEN).increment(sum);
            context.getCounter(Sum.DISORDER).increment(disorder);
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int maps = Integer.parseInt(arguments[1]);
        long pairs = Long.parseLong(arguments[2]) * 1_000_000 / (KEY_BYTES + VALUE_BYTES) / maps;
        Path in = new Path(folder, "maps.txt");
        try (FSDataOutputStream out = in.getFileSystem(getConf()).create(in)) {
            for (int i = 0; i < maps; i++) {
                out.writeBytes(pairs + "\n");
            }
        }
        Job job = Job.getInstance(new Configuration(getConf()), "random shuffle");
        job.setJarByClass(RandomShuffle.class);
        job.setInputFormatClass(NLineInputFormat.class);
        job.setMapperClass(Draws.class);
        job.setReducerClass(Looks.class);
        job.setNumReduceTasks(2);
        job.setMapOutputKeyClass(BytesWritable.class);
        job.setMapOutputValueClass(BytesWritable.class);
        job.setOutputKeyClass(NullWritable.class);
        job.setOutputValueClass(NullWritable.class);
        FileInputFormat.addInputPath(job, in);
        FileOutputFormat.setOutputPath(job, new Path(folder, "out"));
        TimedJobs.run("random shuffle", 0, job);
        long emitted = job.getCounters().findCounter(Sum.EMITTED).getValue();
        long seen = job.getCounters().findCounter(Sum.SEEN).getValue();
        long disorder = job.getCounters().findCounter(Sum.DISORDER).getValue();
        long records =
                job.getCounters().findCounter(TaskCounter.REDUCE_INPUT_RECORDS).getValue();
        long spilled =
                job.getCounters().findCounter(TaskCounter.SPILLED_RECORDS).getValue();
        if (emitted != seen || disorder != 0 || records != pairs * maps) {
            throw new IllegalStateException(
                    emitted + " emitted, " + seen + " seen, " + disorder + " out of order, " + records + " records");
        }
        System.out.println("{\"records\": " + records + ", \"spilled\": " + spilled + "}");
        return 0;
    }

    /**
     * Runs the job.
     *
     * @param arguments options of Hadoop, a folder, the number of maps, the megabytes of pairs
     * @throws Exception if the job fails, or its pairs do not come as they should
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new RandomShuffle(), arguments));
    }
}
