package org.tegula.hadoop;

import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Writes sequence files that another engine has made anew, with one file for each partition of the jobs to come, so that their
 * pairs are at the right places from the first job on (the paper on M3R, section 6.1.1). The partitioner and the number of
 * reduces are Hadoop's settings. No output is left if a file cannot be read.
 */
public final class Repartition extends Configured implements Tool {
    private Repartition() {}

    /** The files that the job reads: also those of map files, and none that are hidden. */
    private static final class Files extends SequenceFileInputFormat<Object, Object> {
        static List<FileStatus> of(JobContext job) throws IOException {
            return new Files().listStatus(job);
        }
    }

    /** Passes pairs on, and names the file if one of them has a fault. */
    static final class Pass extends Mapper<Object, Object, Object, Object> {
        @Override
        public void run(Context context) throws IOException, InterruptedException {
            try {
                super.run(context);
            } catch (IOException | RuntimeException e) {
                throw new IOException(((FileSplit) context.getInputSplit()).getPath() + " has a pair with a fault", e);
            }
        }
    }

    private record Types(Class<?> key, Class<?> value) {
        static Types of(Path file, Configuration conf) throws IOException {
            try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, SequenceFile.Reader.file(file))) {
                return new Types(reader.getKeyClass(), reader.getValueClass());
            } catch (IOException | RuntimeException e) {
                throw new IOException("cannot read " + file + " as a sequence file: " + e, e);
            }
        }

        @Override
        public String toString() {
            return "keys of " + key.getName() + " and values of " + value.getName();
        }
    }

    private static Types types(List<FileStatus> files, Configuration conf) throws IOException {
        Path first = files.get(0).getPath();
        Types types = Types.of(first, conf);
        for (FileStatus each : files) {
            Types others = Types.of(each.getPath(), conf);
            if (!others.equals(types)) {
                throw new IOException(each.getPath() + " has " + others + ", but " + first + " has " + types
                        + ": put files of different types into different folders");
            }
        }
        return types;
    }

    private Job submit(Path in, Path out) throws IOException, InterruptedException, ClassNotFoundException {
        Job job = Job.getInstance(getConf(), "repartition " + in.getName());
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setMapperClass(Pass.class);
        job.setReducerClass(Reducer.class);
        FileInputFormat.addInputPath(job, in);
        FileOutputFormat.setOutputPath(job, out);
        List<FileStatus> files = Files.of(job);
        if (files.isEmpty()) {
            throw new IOException(in + " has no file: name a folder of sequence files");
        }
        Types types = types(files, getConf());
        job.setOutputKeyClass(types.key());
        job.setOutputValueClass(types.value());
        if (Settings.isDefault(getConf(), MRJobConfig.NUM_REDUCES)) {
            job.setNumReduceTasks(files.size());
        }
        if (job.getNumReduceTasks() < 1) {
            throw new IOException(MRJobConfig.NUM_REDUCES + " is " + job.getNumReduceTasks() + ", and " + out
                    + " would have as many files: name at least 1");
        }
        job.submit();
        return job;
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: tegula-hadoop repartition [-D mapreduce.job.reduces=N]"
                    + " [-D mapreduce.job.partitioner.class=CLASS] [-libjars JAR] IN OUT");
            return 2;
        }
        Path out = new Path(arguments[1]);
        Job job;
        try {
            job = submit(new Path(arguments[0]), out);
        } catch (IOException e) {
            System.err.println("tegula-hadoop: " + e.getMessage());
            return 1;
        }
        if (job.waitForCompletion(true)) {
            return 0;
        }
        out.getFileSystem(getConf()).delete(out, true); // the job has made it
        String why = job.getStatus()
                .getFailureInfo()
                .lines()
                .filter(line -> !line.isBlank() && !line.startsWith("\t")) // Hadoop's client has shown the stack traces
                .collect(Collectors.joining("; "));
        System.err.println("tegula-hadoop: " + out + " was not made: " + why);
        return 1;
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
