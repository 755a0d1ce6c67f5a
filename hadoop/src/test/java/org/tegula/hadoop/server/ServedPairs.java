package org.tegula.hadoop.server;

import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.tegula.hadoop.api.ImmutableOutput;

/** A job whose output can stay in the memory of places: a number of pairs that tell which job has made them. */
final class ServedPairs {
    private static final String SALT = "served.pairs.salt";
    private static final int PAIRS = 40;

    private ServedPairs() {}

    /** Emits pairs. */
    public static final class Makes extends Mapper<LongWritable, Text, IntWritable, IntWritable>
            implements ImmutableOutput {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            int salt = context.getConfiguration().getInt(SALT, 0);
            for (int i = 0; i < PAIRS; i++) {
                context.write(new IntWritable(i), new IntWritable(i * salt));
            }
        }
    }

    /** A job over one line of a file beside its output. */
    static Job make(Configuration conf, Path out, int salt) throws IOException {
        java.nio.file.Path in = java.nio.file.Path.of(out.getParent().toUri().getPath(), "line-of-" + out.getName());
        Files.writeString(in, "x\n");
        Job job = Job.getInstance(conf);
        job.getConfiguration().setInt(SALT, salt);
        job.setMapperClass(Makes.class);
        job.setReducerClass(Reducer.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(IntWritable.class);
        job.setNumReduceTasks(3);
        FileInputFormat.addInputPath(job, new Path(in.toUri()));
        FileOutputFormat.setOutputPath(job, out);
        return job;
    }

    static Map<Integer, Integer> expected(int salt) {
        Map<Integer, Integer> all = new TreeMap<>();
        for (int i = 0; i < PAIRS; i++) {
            all.put(i, i * salt);
        }
        return all;
    }

    static Map<Integer, Integer> read(FileSystem files, Path output) throws IOException {
        Map<Integer, Integer> all = new TreeMap<>();
        for (FileStatus each : files.listStatus(output)) {
            if (each.getPath().getName().startsWith("part-")) {
                try (SequenceFile.Reader reader =
                        new SequenceFile.Reader(files.getConf(), SequenceFile.Reader.file(each.getPath()))) {
                    IntWritable key = new IntWritable();
                    IntWritable value = new IntWritable();
                    while (reader.next(key, value)) {
                        all.put(key.get(), value.get());
                    }
                }
            }
        }
        return all;
    }
}
