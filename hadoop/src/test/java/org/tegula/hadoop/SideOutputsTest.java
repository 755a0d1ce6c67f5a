package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.LazyOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.MultipleOutputs;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.ImmutableOutput;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** Sequence files of MultipleOutputs and LazyOutputFormat are what Hadoop writes, and the next job finds their pairs. */
@Timeout(120)
class SideOutputsTest {
    private static final String TEXT = "one two two\nthree three three\nfour four four four\n";

    @TempDir
    Path folder;

    private Configuration conf;
    private FileSystem files;

    @BeforeEach
    void configure() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setClass("fs.file.impl", CachedLocalFileSystem.class, FileSystem.class);
        conf.setBoolean("fs.file.impl.disable.cache", true);
        files = FileSystem.get(conf);
        Files.writeString(folder.resolve("in.txt"), TEXT);
    }

    @AfterEach
    void delete() throws IOException {
        files.delete(hadoop(folder), true);
    }

    private static org.apache.hadoop.fs.Path hadoop(Path path) {
        return new org.apache.hadoop.fs.Path(path.toUri());
    }

    /** Writes even counts to a named output, odd ones to a folder by the job's own format, and emits all; from one object. */
    public static class Splits extends Reducer<Text, IntWritable, Text, IntWritable> {
        private MultipleOutputs<Text, IntWritable> outputs;
        private final IntWritable sum = new IntWritable();

        @Override
        protected void setup(Context context) {
            outputs = new MultipleOutputs<>(context);
        }

        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            int all = 0;
            for (IntWritable value : values) {
                all += value.get();
            }
            IntWritable written = sum(all);
            if (all % 2 == 0) {
                outputs.write("even", key, written);
            } else {
                outputs.write(key, written, "odd numbers/part");
            }
            context.write(key, written);
        }

        IntWritable sum(int all) {
            sum.set(all);
            return sum;
        }

        @Override
        protected void cleanup(Context context) throws IOException, InterruptedException {
            outputs.close();
        }
    }

    /** The same, from an object for each pair, with the promise. */
    public static final class SplitsForGood extends Splits implements ImmutableOutput {
        @Override
        IntWritable sum(int all) {
            return new IntWritable(all);
        }
    }

    private Job splitting(Configuration engine, Path out, Class<? extends Splits> reducer) throws IOException {
        Job job = Jobs.wordCount(engine, folder.resolve("in.txt"), out);
        job.setReducerClass(reducer);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        MultipleOutputs.addNamedOutput(job, "even", SequenceFileOutputFormat.class, Text.class, IntWritable.class);
        return job;
    }

    /** All pairs by the file that they are in, however it is kept. */
    private Map<String, List<String>> pairs(Path out) throws IOException {
        Map<String, List<String>> all = new TreeMap<>();
        var each = files.listFiles(hadoop(out), true);
        while (each.hasNext()) {
            org.apache.hadoop.fs.Path file = each.next().getPath();
            String name = file.toUri().getPath().substring(out.toString().length());
            List<String> found = all.computeIfAbsent(name, missing -> new ArrayList<>());
            if (!file.getName().startsWith("_")) {
                try (SequenceFile.Reader in = new SequenceFile.Reader(conf, SequenceFile.Reader.file(file))) {
                    Text key = new Text();
                    IntWritable value = new IntWritable();
                    while (in.next(key, value)) {
                        found.add(key + " " + value);
                    }
                }
            }
        }
        return all;
    }

    /** How many of the splits of some folders a job finds. */
    private long found(Path out, String... places) throws Exception {
        Job job = Job.getInstance(conf);
        job.setNumReduceTasks(0);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        for (String place : places) {
            FileInputFormat.addInputPath(job, hadoop(out.resolve(place)));
        }
        FileOutputFormat.setOutputPath(job, hadoop(folder.resolve("read-" + System.nanoTime())));
        assertTrue(job.waitForCompletion(false));
        return job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue();
    }

    @ParameterizedTest
    @CsvSource({"out, false", "out, true", "temp-out, false", "temp-out, true"})
    void filesOfMultipleOutputsAreFoundAsPairs(String name, boolean promises) throws Exception {
        Class<? extends Splits> reducer = promises ? SplitsForGood.class : Splits.class;
        Path local = folder.resolve("local");
        Configuration reference = Engines.LOCAL.conf(folder.resolve("tmp"));
        assertTrue(splitting(reference, local, reducer).waitForCompletion(false));
        Path out = folder.resolve(name);
        assertTrue(splitting(conf, out, reducer).waitForCompletion(false));
        assertEquals(name.equals("out"), Files.exists(out));
        assertEquals(pairs(local), pairs(out));
        assertEquals(3, found(out, "even-r-00000", "odd numbers", "part-r-00000"));
        if (name.equals("temp-out")) {
            return;
        }
        for (String each : List.of("even-r-00000", "odd numbers/part-r-00000")) {
            assertEquals(Files.size(local.resolve(each)), Files.size(out.resolve(each)));
        }
    }

    /** A task that fails has its files' pairs dropped with the files. */
    public static final class FailsOnce extends Splits {
        @Override
        protected void cleanup(Context context) throws IOException, InterruptedException {
            super.cleanup(context);
            if (context.getTaskAttemptID().getId() == 0) {
                throw new IOException("meant to fail");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"out", "temp-out"})
    void aFailedAttemptLeavesNone(String name) throws Exception {
        Path out = folder.resolve(name);
        assertTrue(splitting(conf, out, FailsOnce.class).waitForCompletion(false));
        assertEquals(List.of("four 4", "two 2"), pairs(out).get("/even-r-00000"));
        assertEquals(1, found(out, "even-r-00000"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"out", "temp-out"})
    void aLazyOutputIsFoundAsPairs(String name) throws Exception {
        Path out = folder.resolve(name);
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), out);
        job.setNumReduceTasks(3);
        LazyOutputFormat.setOutputFormatClass(job, SequenceFileOutputFormat.class);
        assertTrue(job.waitForCompletion(false));
        int parts = pairs(out).size() - 1;
        assertTrue(parts > 0 && parts <= 3, parts + " parts");
        assertEquals(parts, found(out, ""));
    }

    /** The same by the other interface: each word into an output of its own. */
    public static final class OldSplits extends MapReduceBase
            implements org.apache.hadoop.mapred.Reducer<Text, Text, Text, Text> {
        private org.apache.hadoop.mapred.lib.MultipleOutputs outputs;

        @Override
        public void configure(JobConf job) {
            outputs = new org.apache.hadoop.mapred.lib.MultipleOutputs(job);
        }

        @Override
        public void reduce(Text key, Iterator<Text> values, OutputCollector<Text, Text> output, Reporter reporter)
                throws IOException {
            @SuppressWarnings("unchecked") // Hadoop's outputs have no types
            OutputCollector<Text, Text> lines = outputs.getCollector("lines", reporter);
            while (values.hasNext()) {
                lines.collect(key, values.next());
            }
        }

        @Override
        public void close() throws IOException {
            outputs.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"out", "temp-out"})
    void theOlderInterfaceHasThemToo(String name) throws Exception {
        Path out = folder.resolve(name);
        JobConf job = new JobConf(conf);
        job.setInputFormat(org.apache.hadoop.mapred.KeyValueTextInputFormat.class);
        job.setReducerClass(OldSplits.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(Text.class);
        job.setOutputFormat(org.apache.hadoop.mapred.SequenceFileOutputFormat.class);
        org.apache.hadoop.mapred.FileInputFormat.addInputPath(job, hadoop(folder.resolve("in.txt")));
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(job, hadoop(out));
        org.apache.hadoop.mapred.lib.MultipleOutputs.addNamedOutput(
                job, "lines", org.apache.hadoop.mapred.SequenceFileOutputFormat.class, Text.class, Text.class);
        assertTrue(JobClient.runJob(job).isSuccessful());
        assertEquals(name.equals("out"), Files.exists(out));
        org.apache.hadoop.fs.Path file = new org.apache.hadoop.fs.Path(hadoop(out), "lines-r-00000");
        assertTrue(files.exists(file));
        assertEquals(1, found(out, "lines-r-00000"));
        assertFalse(files.exists(new org.apache.hadoop.fs.Path(hadoop(out), "_temporary")));
    }
}
