package org.tegula.hadoop.bench;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * K-means over points that are drawn: each of three jobs reads all points again, with the centres that the one before has
 * written, which its mappers read when they begin. Coordinates are whole numbers, so that sums are the same in any order.
 */
public final class KMeans extends Configured implements Tool {
    private static final int ITERATIONS = 3;
    private static final int DIMENSIONS = 8;
    private static final int CENTRES = 16;
    private static final int RANGE = 1 << 20;
    private static final String CENTRES_FOLDER = "kmeans.centres";

    private KMeans() {}

    /** Coordinates, or their sums over some points. */
    public static final class Points implements Writable {
        private long count;
        private long[] sums = new long[DIMENSIONS];

        /** Made by Hadoop. */
        public Points() {}

        static Points drawn(Random random) {
            Points point = new Points();
            point.count = 1;
            for (int i = 0; i < DIMENSIONS; i++) {
                point.sums[i] = random.nextInt(RANGE);
            }
            return point;
        }

        void clear() {
            count = 0;
            java.util.Arrays.fill(sums, 0);
        }

        void add(Points other) {
            count += other.count;
            for (int i = 0; i < DIMENSIONS; i++) {
                sums[i] += other.sums[i];
            }
        }

        long distance(Points centre) {
            long sum = 0;
            for (int i = 0; i < DIMENSIONS; i++) {
                long apart = sums[i] - centre.sums[i] / centre.count;
                sum += apart * apart;
            }
            return sum;
        }

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeLong(count);
            for (long sum : sums) {
                out.writeLong(sum);
            }
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            count = in.readLong();
            for (int i = 0; i < DIMENSIONS; i++) {
                sums[i] = in.readLong();
            }
        }
    }

    /** Sends each point to the centre that is nearest. */
    public static final class Nearest extends Mapper<IntWritable, Points, IntWritable, Points> {
        private final Points[] centres = new Points[CENTRES];
        private final IntWritable nearest = new IntWritable();

        /** Made by Hadoop. */
        public Nearest() {}

        @Override
        protected void setup(Context context) throws IOException {
            Configuration conf = context.getConfiguration();
            Path folder = new Path(conf.get(CENTRES_FOLDER));
            for (FileStatus file : folder.getFileSystem(conf)
                    .listStatus(folder, path -> path.getName().startsWith("part-"))) {
                try (SequenceFile.Reader reader =
                        new SequenceFile.Reader(conf, SequenceFile.Reader.file(file.getPath()))) {
                    IntWritable number = new IntWritable();
                    Points centre = new Points();
                    while (reader.next(number, centre)) {
                        centres[number.get()] = centre;
                        centre = new Points();
                    }
                }
            }
        }

        @Override
        protected void map(IntWritable number, Points point, Context context) throws IOException, InterruptedException {
            long least = Long.MAX_VALUE;
            for (int i = 0; i < CENTRES; i++) {
                long distance = centres[i] == null ? Long.MAX_VALUE : point.distance(centres[i]);
                if (distance < least) {
                    least = distance;
                    nearest.set(i);
                }
            }
            context.write(nearest, point);
        }
    }

    /** Adds points up. */
    public static final class Sums extends Reducer<IntWritable, Points, IntWritable, Points> {
        private final Points sum = new Points();

        /** Made by Hadoop. */
        public Sums() {}

        @Override
        protected void reduce(IntWritable number, Iterable<Points> points, Context context)
                throws IOException, InterruptedException {
            sum.clear();
            points.forEach(sum::add);
            context.write(number, sum);
        }
    }

    private void write(Path file, int count, Random random) throws IOException {
        try (SequenceFile.Writer writer = SequenceFile.createWriter(
                getConf(),
                SequenceFile.Writer.file(file),
                SequenceFile.Writer.keyClass(IntWritable.class),
                SequenceFile.Writer.valueClass(Points.class),
                SequenceFile.Writer.compression(SequenceFile.CompressionType.NONE))) {
            for (int i = 0; i < count; i++) {
                writer.append(new IntWritable(i), Points.drawn(random));
            }
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int count = Integer.parseInt(arguments[1]);
        int partitions = Integer.parseInt(arguments[2]);
        FileSystem files = folder.getFileSystem(getConf());
        Random random = new Random(1);
        Path points = new Path(folder, "points");
        Path centres = new Path(folder, "centres");
        for (int i = 0; i < partitions; i++) {
            write(new Path(points, String.format("part-r-%05d", i)), count / partitions, random);
        }
        write(new Path(centres, "part-r-00000"), CENTRES, random);
        for (int iteration = 0; iteration < ITERATIONS; iteration++) {
            Path next = new Path(folder, iteration < ITERATIONS - 1 ? "temp-centres" + iteration : "out");
            Job job = Job.getInstance(new Configuration(getConf()), "k-means");
            job.getConfiguration().set(CENTRES_FOLDER, centres.toString());
            job.setJarByClass(KMeans.class);
            job.setInputFormatClass(SequenceFileInputFormat.class);
            job.setOutputFormatClass(SequenceFileOutputFormat.class);
            job.setMapperClass(Nearest.class);
            job.setCombinerClass(Sums.class);
            job.setReducerClass(Sums.class);
            job.setOutputKeyClass(IntWritable.class);
            job.setOutputValueClass(Points.class);
            FileInputFormat.addInputPath(job, points);
            FileOutputFormat.setOutputPath(job, next);
            TimedJobs.run("k-means", iteration, job);
            files.delete(centres, true);
            centres = next;
        }
        return 0;
    }

    /**
     * Runs the jobs.
     *
     * @param arguments options of Hadoop, a folder, the number of points, in how many files they are
     * @throws Exception if a job fails
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new KMeans(), arguments));
    }
}
