package org.tegula.hadoop;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Writes sequence files that another engine has made anew, with one file for each partition of the jobs to come, so that their
 * pairs are at the right places from the first job on (the paper on M3R, section 6.1.1). The partitioner and the number of
 * reduces are Hadoop's settings.
 */
public final class Repartition extends Configured implements Tool {
    private Repartition() {}

    private static FileStatus[] files(FileSystem system, Path folder) throws IOException {
        return system.listStatus(
                folder,
                file -> !file.getName().startsWith("_") && !file.getName().startsWith("."));
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: tegula-hadoop repartition [-D mapreduce.job.reduces=N]"
                    + " [-D mapreduce.job.partitioner.class=CLASS] [-libjars JAR] IN OUT");
            return 2;
        }
        Path in = new Path(arguments[0]);
        FileStatus[] files = files(in.getFileSystem(getConf()), in);
        if (files.length == 0) {
            System.err.println("tegula-hadoop: " + in + " has no file: name a folder of sequence files");
            return 1;
        }
        Job job = Job.getInstance(getConf(), "repartition " + in.getName());
        try (SequenceFile.Reader first =
                new SequenceFile.Reader(getConf(), SequenceFile.Reader.file(files[0].getPath()))) {
            job.setOutputKeyClass(first.getKeyClass());
            job.setOutputValueClass(first.getValueClass());
        }
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setMapperClass(Mapper.class);
        job.setReducerClass(Reducer.class);
        if (getConf().get(MRJobConfig.NUM_REDUCES) == null) {
            job.setNumReduceTasks(files.length);
        }
        FileInputFormat.addInputPath(job, in);
        FileOutputFormat.setOutputPath(job, new Path(arguments[1]));
        return job.waitForCompletion(true) ? 0 : 1;
    }

    /**
     * Runs the job, and exits with 0 if it succeeds.
     *
     * @param arguments options of Hadoop, the folder that is read, the folder that is made
     * @throws Exception if a file cannot be read
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new Repartition(), arguments));
    }
}
