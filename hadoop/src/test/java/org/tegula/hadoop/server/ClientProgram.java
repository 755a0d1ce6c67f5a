package org.tegula.hadoop.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.map.InverseMapper;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.GenericOptionsParser;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.api.CacheCounter;

/** A program for a process of its own. It prints the job that it has submitted and, at last, the counts of pairs found in memory. */
public final class ClientProgram {
    private ClientProgram() {}

    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        String[] own = new GenericOptionsParser(conf, arguments).getRemainingArgs();
        if (own[0].equals("look")) {
            look(conf, new org.apache.hadoop.fs.Path(own[1]), new org.apache.hadoop.fs.Path(own[2]));
            return;
        }
        Job job = Jobs.wordCount(conf, Path.of(own[1]), Path.of(own[2]));
        switch (own[0]) {
            case "count" -> job.setOutputFormatClass(SequenceFileOutputFormat.class);
            case "turn" -> {
                job.setInputFormatClass(SequenceFileInputFormat.class);
                job.setMapperClass(InverseMapper.class);
                job.setOutputKeyClass(IntWritable.class);
                job.setOutputValueClass(Text.class);
                job.setNumReduceTasks(0);
            }
            case "never" -> job.setMapperClass(Endless.class);
            default -> throw new IllegalArgumentException(own[0]);
        }
        job.submit();
        System.out.println(job.getJobID());
        boolean succeeded = job.waitForCompletion(false);
        System.out.println(
                job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        System.exit(succeeded ? 0 : 1);
    }

    /** Lists a folder, renames it, reads a file in it, and deletes it. */
    private static void look(Configuration conf, org.apache.hadoop.fs.Path folder, org.apache.hadoop.fs.Path renamed)
            throws IOException {
        FileSystem files = folder.getFileSystem(conf);
        List<String> names = new ArrayList<>();
        for (FileStatus each : files.listStatus(folder)) {
            names.add(each.getPath().getName());
        }
        System.out.println(names + " " + files.getFileStatus(folder).isDirectory());
        System.out.println(files.rename(folder, renamed) + " " + files.exists(folder) + " "
                + Files.exists(Path.of(renamed.toString())));
        Text key = new Text();
        IntWritable value = new IntWritable();
        try (SequenceFile.Reader reader = new SequenceFile.Reader(
                conf, SequenceFile.Reader.file(new org.apache.hadoop.fs.Path(renamed, "part-r-00000")))) {
            while (reader.next(key, value)) {
                System.out.print(key + "=" + value + " ");
            }
        }
        System.out.println(Files.exists(Path.of(renamed.toString(), "part-r-00000")));
        System.out.println(files.delete(renamed, true) + " " + files.exists(renamed));
    }

    static final class Endless extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            context.setStatus("waiting");
            while (true) {
                Thread.sleep(10);
            }
        }
    }
}
