package org.tegula.hadoop.bench;

import java.io.IOException;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.tegula.hadoop.api.ImmutableOutput;

/**
 * The micro-benchmark of the paper on M3R: some jobs, each over the output of the one before, which it then deletes. A pair is
 * an ascending number and ten thousand bytes; the mapper leaves it in its partition or sends it to the next one. The mapper and
 * the reducer promise not to change pairs, as in the paper, or they do not, and pairs are copied.
 */
public final class ShuffledPairs extends Configured implements Tool {
    private static final int VALUE_BYTES = 10_000;
    private static final String AWAY_PERCENT = "pairs.away.percent";

    private ShuffledPairs() {}

    /** Keeps a pair in its partition, or gives it a key of the next. */
    public static class Sends extends Mapper<IntWritable, BytesWritable, IntWritable, BytesWritable> {
        private Random random;
        private int awayPercent;

        /** Made by Hadoop. */
        public Sends() {}

        @Override
        protected void setup(Context context) {
            random = new Random(context.getTaskAttemptID().getTaskID().getId());
            awayPercent = context.getConfiguration().getInt(AWAY_PERCENT, 0);
        }

        @Override
        protected void map(IntWritable key, BytesWritable value, Context context)
                throws IOException, InterruptedException {
            context.write(random.nextInt(100) < awayPercent ? new IntWritable(key.get() + 1) : key, value);
        }
    }

    /** The same, with the promise. */
    public static final class SendsForGood extends Sends implements ImmutableOutput {
        /** Made by Hadoop. */
        public SendsForGood() {}
    }

    /** Hadoop's own reducer under another name: of that one, the engine knows that it changes nothing. */
    public static final class Passes extends Reducer<IntWritable, BytesWritable, IntWritable, BytesWritable> {
        /** Made by Hadoop. */
        public Passes() {}
    }

    /** By the key alone. */
    public static final class Modulo extends Partitioner<IntWritable, BytesWritable> {
        /** Made by Hadoop. */
        public Modulo() {}

        @Override
        public int getPartition(IntWritable key, BytesWritable value, int partitions) {
            return key.get() % partitions;
        }
    }

    static void write(Configuration conf, Path folder, int pairs, int partitions) throws IOException {
        Random random = new Random(1);
        byte[] bytes = new byte[VALUE_BYTES];
        for (int partition = 0; partition < partitions; partition++) {
            Path file = new Path(folder, String.format("part-r-%05d", partition));
            try (SequenceFile.Writer writer = SequenceFile.createWriter(
                    conf,
                    SequenceFile.Writer.file(file),
                    SequenceFile.Writer.keyClass(IntWritable.class),
                    SequenceFile.Writer.valueClass(BytesWritable.class),
                    SequenceFile.Writer.compression(SequenceFile.CompressionType.NONE))) {
                for (int key = partition; key < pairs; key += partitions) {
                    random.nextBytes(bytes);
                    writer.append(new IntWritable(key), new BytesWritable(bytes));
                }
            }
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int pairs = Integer.parseInt(arguments[1]);
        int partitions = Integer.parseInt(arguments[2]);
        int iterations = Integer.parseInt(arguments[4]);
        boolean promised = Boolean.parseBoolean(arguments[5]);
        FileSystem files = folder.getFileSystem(getConf());
        getConf().setInt(AWAY_PERCENT, Integer.parseInt(arguments[3]));
        getConf().setLong("mapreduce.input.fileinputformat.split.minsize", Long.MAX_VALUE);
        Path in = new Path(folder, "in");
        write(getConf(), in, pairs, partitions);
        for (int iteration = 0; iteration < iterations; iteration++) {
            Path out = new Path(folder, iteration < iterations - 1 ? "temp-" + iteration : "out");
            Job job = Job.getInstance(new Configuration(getConf()), "pairs");
            job.setJarByClass(ShuffledPairs.class);
            job.setInputFormatClass(SequenceFileInputFormat.class);
            job.setOutputFormatClass(SequenceFileOutputFormat.class);
            job.setMapperClass(promised ? SendsForGood.class : Sends.class);
            job.setPartitionerClass(Modulo.class);
            job.setReducerClass(promised ? Reducer.class : Passes.class);
            job.setNumReduceTasks(partitions);
            job.setOutputKeyClass(IntWritable.class);
            job.setOutputValueClass(BytesWritable.class);
            FileInputFormat.addInputPath(job, in);
            FileOutputFormat.setOutputPath(job, out);
            TimedJobs.run(arguments[3] + " percent away", iteration, job);
            files.delete(in, true);
            in = out;
        }
        return 0;
    }

    /**
     * Runs the jobs.
     *
     * @param arguments options of Hadoop, a folder, the number of pairs, the number of partitions, the percentage that is
     *     sent away, the number of jobs, whether mapper and reducer promise
     * @throws Exception if a job fails
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new ShuffledPairs(), arguments));
    }
}
