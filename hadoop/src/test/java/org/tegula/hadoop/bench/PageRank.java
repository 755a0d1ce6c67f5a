package org.tegula.hadoop.bench;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
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
 * PageRank over links that are drawn, as programs for Hadoop do it: a page carries its links from job to job, and sends each
 * a share of its rank; a combiner adds shares up. Three iterations of one job. Ranks are whole numbers of small parts, so that
 * sums are the same in any order.
 */
public final class PageRank extends Configured implements Tool {
    private static final int ITERATIONS = 3;
    private static final int LINKS = 10;
    private static final long WHOLE = 1L << 32;
    private static final int DAMPING_PERCENT = 85;

    private PageRank() {}

    /** A page with its links, or a share of rank alone. */
    public static final class Page implements Writable {
        private long rank;
        private int[] links = {};

        /** Made by Hadoop. */
        public Page() {}

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeLong(rank);
            out.writeInt(links.length);
            for (int link : links) {
                out.writeInt(link);
            }
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            rank = in.readLong();
            links = new int[in.readInt()];
            for (int i = 0; i < links.length; i++) {
                links[i] = in.readInt();
            }
        }
    }

    /** Passes a page's links on, and shares its rank among them. */
    public static final class Shares extends Mapper<IntWritable, Page, IntWritable, Page> {
        private final IntWritable to = new IntWritable();
        private final Page sent = new Page();

        /** Made by Hadoop. */
        public Shares() {}

        @Override
        protected void map(IntWritable number, Page page, Context context) throws IOException, InterruptedException {
            sent.links = page.links;
            sent.rank = 0;
            context.write(number, sent);
            sent.links = new int[0];
            sent.rank = page.rank / 100 * DAMPING_PERCENT / page.links.length;
            for (int link : page.links) {
                to.set(link);
                context.write(to, sent);
            }
        }
    }

    /** Adds up the values that a page was sent. */
    public static final class Sums extends Reducer<IntWritable, Page, IntWritable, Page> {
        private final Page whole = new Page();
        private long added;

        /** Made by Hadoop. */
        public Sums() {}

        @Override
        protected void setup(Context context) {
            boolean last = context.getTaskAttemptID().getTaskType() == org.apache.hadoop.mapreduce.TaskType.REDUCE;
            added = last ? WHOLE / 100 * (100 - DAMPING_PERCENT) : 0;
        }

        @Override
        protected void reduce(IntWritable number, Iterable<Page> pages, Context context)
                throws IOException, InterruptedException {
            whole.rank = added;
            whole.links = new int[0];
            for (Page page : pages) {
                whole.rank += page.rank;
                if (page.links.length > 0) {
                    whole.links = page.links;
                }
            }
            context.write(number, whole);
        }
    }

    private void write(Path folder, int pages, int partitions) throws IOException {
        Random random = new Random(1);
        IntWritable number = new IntWritable();
        Page page = new Page();
        page.rank = WHOLE;
        page.links = new int[LINKS];
        for (int partition = 0; partition < partitions; partition++) {
            Path file = new Path(folder, String.format("part-r-%05d", partition));
            try (SequenceFile.Writer writer = SequenceFile.createWriter(
                    getConf(),
                    SequenceFile.Writer.file(file),
                    SequenceFile.Writer.keyClass(IntWritable.class),
                    SequenceFile.Writer.valueClass(Page.class),
                    SequenceFile.Writer.compression(SequenceFile.CompressionType.NONE))) {
                for (int each = partition; each < pages; each += partitions) {
                    number.set(each);
                    for (int i = 0; i < LINKS; i++) {
                        // Low numbers are linked to more often.
                        page.links[i] = (int) (pages * Math.pow(random.nextDouble(), 3));
                    }
                    writer.append(number, page);
                }
            }
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int partitions = Integer.parseInt(arguments[2]);
        FileSystem files = folder.getFileSystem(getConf());
        Path ranks = new Path(folder, "ranks");
        write(ranks, Integer.parseInt(arguments[1]), partitions);
        for (int iteration = 0; iteration < ITERATIONS; iteration++) {
            Path next = new Path(folder, iteration < ITERATIONS - 1 ? "temp-ranks" + iteration : "out");
            Job job = Job.getInstance(new Configuration(getConf()), "page rank");
            job.setJarByClass(PageRank.class);
            job.setInputFormatClass(SequenceFileInputFormat.class);
            job.setOutputFormatClass(SequenceFileOutputFormat.class);
            job.setMapperClass(Shares.class);
            job.setCombinerClass(Sums.class);
            job.setReducerClass(Sums.class);
            job.setNumReduceTasks(partitions);
            job.setOutputKeyClass(IntWritable.class);
            job.setOutputValueClass(Page.class);
            FileInputFormat.addInputPath(job, ranks);
            FileOutputFormat.setOutputPath(job, next);
            TimedJobs.run("page rank", iteration, job);
            files.delete(ranks, true);
            ranks = next;
        }
        return 0;
    }

    /**
     * Runs the jobs.
     *
     * @param arguments options of Hadoop, a folder, the number of pages, the number of partitions
     * @throws Exception if a job fails
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new PageRank(), arguments));
    }
}
