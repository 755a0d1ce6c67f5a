package org.tegula.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.map.TokenCounterMapper;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * A program that loads the classes that most jobs do: two word counts of one line, with a combiner and without. The script
 * {@code tegula-hadoop} runs it once, and has the JVM keep these classes as it has parsed them.
 */
public final class Rehearsal extends Configured implements Tool {
    private Rehearsal() {}

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("tegula-rehearsal-");
        try {
            Path text = Files.writeString(folder.resolve("text"), "to be or not to be\n");
            boolean both =
                    count(text, folder.resolve("combined"), true) && count(text, folder.resolve("sorted"), false);
            return both ? 0 : 1;
        } finally {
            FileUtil.fullyDelete(folder.toFile());
        }
    }

    private boolean count(Path text, Path counts, boolean combines)
            throws IOException, InterruptedException, ClassNotFoundException {
        Job job = Job.getInstance(getConf(), "rehearsal");
        job.setJarByClass(Rehearsal.class);
        job.setMapperClass(TokenCounterMapper.class);
        if (combines) {
            job.setCombinerClass(IntSumReducer.class);
        }
        job.setReducerClass(IntSumReducer.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(text.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(counts.toUri()));
        return job.waitForCompletion(true);
    }

    /**
     * Runs the jobs.
     *
     * @param arguments options of Hadoop
     * @throws Exception if a job fails
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Rehearsal(), arguments));
    }
}
