package org.tegula.hadoop.bench;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.examples.WordCount;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** Counts the words of the same text again and again in one JVM, to measure the overhead of a job. */
public final class WarmJobs extends Configured implements Tool {
    private WarmJobs() {}

    @Override
    public int run(String[] arguments) throws Exception {
        Path out = new Path(arguments[1]);
        int jobs = Integer.parseInt(arguments[2]);
        for (int i = 0; i < jobs; i++) {
            Job job = Job.getInstance(new Configuration(getConf()), "word count");
            job.setJarByClass(WordCount.class);
            job.setMapperClass(WordCount.TokenizerMapper.class);
            job.setCombinerClass(WordCount.IntSumReducer.class);
            job.setReducerClass(WordCount.IntSumReducer.class);
            job.setOutputKeyClass(Text.class);
            job.setOutputValueClass(IntWritable.class);
            FileInputFormat.addInputPath(job, new Path(arguments[0]));
            FileOutputFormat.setOutputPath(job, new Path(out, "run" + i));
            TimedJobs.run("word count", i, job);
        }
        return 0;
    }

    /**
     * Runs the jobs.
     *
     * @param arguments options of Hadoop, the text, the folder of outputs, how many jobs
     * @throws Exception if a job fails
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new WarmJobs(), arguments));
    }
}
