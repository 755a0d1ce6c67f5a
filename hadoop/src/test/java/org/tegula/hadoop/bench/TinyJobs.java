package org.tegula.hadoop.bench;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.map.TokenCounterMapper;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** Word counts of 20 kB with four reduces, one after the other, in one engine. */
public final class TinyJobs extends Configured implements Tool {
    private static final int LINES = 400;
    private static final int REDUCES = 4;

    private TinyJobs() {}

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        FileSystem files = folder.getFileSystem(getConf());
        Path in = new Path(folder, "in.txt");
        try (FSDataOutputStream out = files.create(in)) {
            for (int i = 0; i < LINES; i++) {
                out.writeBytes("a line of eight words with number " + i % 97 + " in it\n");
            }
        }
        for (int iteration = 0; iteration < Integer.parseInt(arguments[1]); iteration++) {
            Job job = Job.getInstance(new Configuration(getConf()), "tiny");
            job.setJarByClass(TinyJobs.class);
            job.setMapperClass(TokenCounterMapper.class);
            job.setCombinerClass(IntSumReducer.class);
            job.setReducerClass(IntSumReducer.class);
            job.setOutputKeyClass(Text.class);
            job.setOutputValueClass(IntWritable.class);
            job.setNumReduceTasks(REDUCES);
            FileInputFormat.addInputPath(job, in);
            FileOutputFormat.setOutputPath(job, new Path(folder, "out" + iteration));
            TimedJobs.run("tiny", iteration, job);
        }
        return 0;
    }

    /**
     * Runs the jobs.
     *
     * @param arguments options of Hadoop, a folder, the number of jobs
     * @throws Exception if a job fails
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new TinyJobs(), arguments));
    }
}
