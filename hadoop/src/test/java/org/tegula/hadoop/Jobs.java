package org.tegula.hadoop;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;

/** Jobs of the tests' own. */
public final class Jobs {
    private Jobs() {}

    /** Counts the words of some text. */
    public static Job wordCount(Configuration conf, Path in, Path out) throws IOException {
        Job job = Job.getInstance(conf, "word count");
        job.setMapperClass(Words.class);
        job.setCombinerClass(IntSumReducer.class);
        job.setReducerClass(IntSumReducer.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(in.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(out.toUri()));
        return job;
    }

    /** Emits each word with a one, from objects that it uses again and again. */
    public static class Words extends Mapper<LongWritable, Text, Text, IntWritable> {
        private final Text word = new Text();
        private final IntWritable one = new IntWritable(1);

        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            for (String each : line.toString().split("\\s+")) {
                word.set(each);
                context.write(word, one);
            }
        }
    }
}
