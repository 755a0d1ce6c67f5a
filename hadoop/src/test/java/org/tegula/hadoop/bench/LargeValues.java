package org.tegula.hadoop.bench;

import java.io.IOException;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
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

/** Sends few, large values from maps to reduces, and looks in reduces whether all have come undamaged. */
public final class LargeValues extends Configured implements Tool {
    private static final String BYTES = "large.values.bytes";

    private LargeValues() {}

    enum Sum {
        EMITTED,
        SEEN
    }

    private static long checksum(BytesWritable value) {
        CRC32C sum = new CRC32C();
        sum.update(value.getBytes(), 0, value.getLength());
        return sum.getValue();
    }

    /** Emits a value for each number of its lines, from one object. */
    public static final class Emits extends Mapper<LongWritable, Text, IntWritable, BytesWritable> {
        private BytesWritable value;

        /** Made by Hadoop. */
        public Emits() {}

        @Override
        protected void setup(Context context) {
            value = new BytesWritable(new byte[context.getConfiguration().getInt(BYTES, 0)]);
        }

        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            for (String each : line.toString().split(" ")) {
                int number = Integer.parseInt(each);
                Arrays.fill(value.getBytes(), (byte) number);
                value.getBytes()[number] ^= 1;
                context.getCounter(Sum.EMITTED).increment(checksum(value));
                context.write(new IntWritable(number), value);
            }
        }
    }

    /** Looks at values. */
    public static final class Looks extends Reducer<IntWritable, BytesWritable, IntWritable, NullWritable> {
        /** Made by Hadoop. */
        public Looks() {}

        @Override
        protected void reduce(IntWritable key, Iterable<BytesWritable> values, Context context)
                throws IOException, InterruptedException {
            for (BytesWritable value : values) {
                context.getCounter(Sum.SEEN).increment(checksum(value));
            }
            context.write(key, NullWritable.get());
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int maps = Integer.parseInt(arguments[1]);
        int values = Integer.parseInt(arguments[2]);
        Path in = new Path(folder, "numbers.txt");
        try (FSDataOutputStream out = in.getFileSystem(getConf()).create(in)) {
            for (int map = 0; map < maps; map++) {
                for (int number = map; number < values; number += maps) {
                    out.writeBytes(number + (number + maps < values ? " " : "\n"));
                }
            }
        }
        Job job = Job.getInstance(new Configuration(getConf()), "large values");
        job.getConfiguration().setInt(BYTES, Integer.parseInt(arguments[3]));
        job.setJarByClass(LargeValues.class);
        job.setInputFormatClass(NLineInputFormat.class);
        job.setMapperClass(Emits.class);
        job.setReducerClass(Looks.class);
        job.setNumReduceTasks(Integer.parseInt(arguments[4]));
        job.setMapOutputKeyClass(IntWritable.class);
        job.setMapOutputValueClass(BytesWritable.class);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(NullWritable.class);
        FileInputFormat.addInputPath(job, in);
        FileOutputFormat.setOutputPath(job, new Path(folder, "out"));
        TimedJobs.run("large values", 0, job);
        long emitted = job.getCounters().findCounter(Sum.EMITTED).getValue();
        long seen = job.getCounters().findCounter(Sum.SEEN).getValue();
        long records =
                job.getCounters().findCounter(TaskCounter.REDUCE_INPUT_RECORDS).getValue();
        if (emitted != seen || records != values) {
            throw new IllegalStateException(emitted + " emitted, " + seen + " seen, " + records + " records");
        }
        System.out.println("{\"records\": " + records + "}");
        return 0;
    }

    /**
     * Runs the job.
     *
     * @param arguments options of Hadoop, a folder, the number of maps, of values, the bytes of a value, the number of reduces
     * @throws Exception if the job fails, or its values do not come as they should
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new LargeValues(), arguments));
    }
}
