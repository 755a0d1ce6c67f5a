package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RunningJob;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;
import org.apache.hadoop.mapreduce.lib.input.LineRecordReader;
import org.apache.hadoop.mapreduce.lib.input.MultipleInputs;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.DelegatingSplit;
import org.tegula.hadoop.api.NamedSplit;

/** A job finds the pairs that an earlier one has read or written in memory: they are decoded once. */
@Timeout(120)
class CacheJobsTest {
    private static final AtomicInteger DECODED = new AtomicInteger();

    @TempDir
    Path folder;

    private Configuration conf;
    private Path in;
    private int jobs;

    @BeforeEach
    void writeInput() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        in = Files.writeString(folder.resolve("in.txt"), "one two two\nthree three three\n");
        DECODED.set(0);
    }

    private Path newFolder() {
        return folder.resolve("out" + jobs++);
    }

    private Job counting(Path out) throws IOException {
        Job job = Jobs.wordCount(conf, in, out);
        job.setNumReduceTasks(2);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        return job;
    }

    /** Passes pairs of sequence files on as text. */
    private Job printing(Configuration configuration, Path from, Path out) throws IOException {
        Job job = Job.getInstance(configuration);
        job.setNumReduceTasks(0);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(from.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(out.toUri()));
        return job;
    }

    private static void run(Job job, int found, int read) throws Exception {
        assertTrue(job.waitForCompletion(false), () -> job.getJobID().toString());
        assertEquals(found, count(job, CacheCounter.SPLITS_FOUND), "splits found");
        assertEquals(read, count(job, CacheCounter.SPLITS_READ), "splits read");
    }

    private static long count(Job job, Enum<?> counter) throws IOException {
        return job.getCounters().findCounter(counter).getValue();
    }

    @Test
    void readsWhatTheJobBeforeHasWrittenWithoutReadingIt() throws Exception {
        Files.writeString(in, "a b c d e f\n");
        Path counts = newFolder();
        run(counting(counts), 0, 1);
        Job first = printing(conf, counts, newFolder());
        run(first, 2, 0);
        assertEquals(0, count(first, FileInputFormatCounter.BYTES_READ));
        assertEquals(6, count(first, TaskCounter.MAP_INPUT_RECORDS));
        Path right = newFolder();
        assertTrue(printing(Engines.LOCAL.conf(folder.resolve("tmp")), counts, right)
                .waitForCompletion(false));
        assertEquals(Trees.read(right), Trees.read(folder.resolve("out1")));
    }

    @Test
    void readsAnInputOnceForManyJobs() throws Exception {
        Job first = counting(newFolder());
        run(first, 0, 1);
        assertEquals(Files.size(in), count(first, FileInputFormatCounter.BYTES_READ));
        Job second = counting(newFolder());
        run(second, 1, 0);
        assertEquals(0, count(second, FileInputFormatCounter.BYTES_READ));
        assertEquals(2, count(second, TaskCounter.MAP_INPUT_RECORDS));
        Path left = folder.resolve("out0");
        Path right = folder.resolve("out1");
        assertEquals(
                Trees.read(runToText(printing(conf, left, newFolder()))),
                Trees.read(runToText(printing(conf, right, newFolder()))));
    }

    private static Path runToText(Job job) throws Exception {
        assertTrue(job.waitForCompletion(false));
        return Path.of(FileOutputFormat.getOutputPath(job).toUri());
    }

    @Test
    void sharesSequenceFilesBetweenBothInterfaces() throws Exception {
        Path counts = newFolder();
        JobConf old = new JobConf(conf);
        old.setNumReduceTasks(1);
        old.setMapperClass(EngineTest.OldWords.class);
        old.setReducerClass(EngineTest.OldSum.class);
        old.setOutputKeyClass(Text.class);
        old.setOutputValueClass(IntWritable.class);
        old.setOutputFormat(org.apache.hadoop.mapred.SequenceFileOutputFormat.class);
        org.apache.hadoop.mapred.FileInputFormat.setInputPaths(old, in.toString());
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(old, new org.apache.hadoop.fs.Path(counts.toUri()));
        assertEquals(0, found(JobClient.runJob(old)));
        run(printing(conf, counts, newFolder()), 1, 0);

        JobConf reader = new JobConf(conf);
        reader.setNumMapTasks(1);
        reader.setNumReduceTasks(0);
        reader.setInputFormat(org.apache.hadoop.mapred.SequenceFileInputFormat.class);
        reader.setMapperClass(OldPrinter.class);
        org.apache.hadoop.mapred.FileInputFormat.setInputPaths(reader, counts.toString());
        Path out = newFolder();
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(reader, new org.apache.hadoop.fs.Path(out.toUri()));
        assertEquals(1, found(JobClient.runJob(reader)));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", Files.readString(out.resolve("part-00000")));
    }

    private static long found(RunningJob job) throws IOException {
        return job.getCounters().getCounter(CacheCounter.SPLITS_FOUND);
    }

    static class OldPrinter extends org.apache.hadoop.mapred.MapReduceBase
            implements org.apache.hadoop.mapred.Mapper<Text, IntWritable, Text, IntWritable> {
        @Override
        public void map(
                Text key,
                IntWritable value,
                org.apache.hadoop.mapred.OutputCollector<Text, IntWritable> out,
                org.apache.hadoop.mapred.Reporter reporter)
                throws IOException {
            out.collect(key, value);
        }
    }

    @Test
    void keepsSplitsOfSeveralInputsOfOneJob() throws Exception {
        Path other = Files.writeString(folder.resolve("other.txt"), "four\n");
        for (int round = 0; round < 2; round++) {
            Job job = Jobs.wordCount(conf, in, newFolder());
            MultipleInputs.addInputPath(
                    job, new org.apache.hadoop.fs.Path(in.toUri()), TextInputFormat.class, Jobs.Words.class);
            MultipleInputs.addInputPath(
                    job, new org.apache.hadoop.fs.Path(other.toUri()), TextInputFormat.class, Shout.class);
            run(job, round == 0 ? 0 : 2, round == 0 ? 2 : 0);
            assertEquals(
                    "FOUR\t1\none\t1\nthree\t3\ntwo\t2\n",
                    Files.readString(folder.resolve("out" + round + "/part-r-00000")));
        }
    }

    static class Shout extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            value.set(value.toString().toUpperCase(java.util.Locale.ROOT));
            context.write(value, new IntWritable(1));
        }
    }

    @Test
    void decodesAgainIfTheReadersSettingsHaveChanged() throws Exception {
        run(counting(newFolder()), 0, 1);
        conf.set("textinputformat.record.delimiter", "three");
        Job other = counting(newFolder());
        run(other, 0, 1);
        assertEquals(4, count(other, TaskCounter.MAP_INPUT_RECORDS));
        run(counting(newFolder()), 1, 0);
    }

    @Test
    void keepsFormatsOfAProgramsOwnOnlyIfTheJobSaysSo() throws Exception {
        for (int round = 0; round < 2; round++) {
            Job job = counting(newFolder());
            job.setInputFormatClass(OwnFormat.class);
            run(job, 0, 0);
        }
        assertEquals(4, DECODED.get());
        conf.set(Settings.CACHE_FORMATS, OwnFormat.class.getName());
        for (int round = 0; round < 3; round++) {
            Job job = counting(newFolder());
            job.setInputFormatClass(OwnFormat.class);
            run(job, round == 0 ? 0 : 1, round == 0 ? 1 : 0);
        }
        assertEquals(6, DECODED.get());
    }

    static class OwnFormat extends TextInputFormat {
        @Override
        public RecordReader<LongWritable, Text> createRecordReader(InputSplit split, TaskAttemptContext context) {
            return new RecordReader<>() {
                private final LineRecordReader lines = new LineRecordReader();

                @Override
                public void initialize(InputSplit part, TaskAttemptContext task) throws IOException {
                    lines.initialize(part, task);
                }

                @Override
                public boolean nextKeyValue() throws IOException {
                    boolean found = lines.nextKeyValue();
                    DECODED.addAndGet(found ? 1 : 0);
                    return found;
                }

                @Override
                public LongWritable getCurrentKey() {
                    return lines.getCurrentKey();
                }

                @Override
                public Text getCurrentValue() {
                    return lines.getCurrentValue();
                }

                @Override
                public float getProgress() throws IOException {
                    return lines.getProgress();
                }

                @Override
                public void close() throws IOException {
                    lines.close();
                }
            };
        }
    }

    @Test
    void keepsDataThatAProgramHasNamed() throws Exception {
        for (String name : List.of("first", "second")) {
            conf.set("test.name", name + folder);
            for (int round = 0; round < 2; round++) {
                Job job = counting(newFolder());
                job.setInputFormatClass(NamedFormat.class);
                run(job, round, 1 - round);
                assertEquals(2, count(job, TaskCounter.MAP_OUTPUT_RECORDS));
            }
        }
        assertEquals(2, DECODED.get());
    }

    /** A split that names its data, inside of one that names it in its place. */
    public static class Wrapper extends InputSplit implements Writable, DelegatingSplit<Named> {
        private final Named within = new Named();

        @Override
        public Named getDelegate() {
            return within;
        }

        @Override
        public long getLength() {
            return 1;
        }

        @Override
        public String[] getLocations() {
            return new String[0];
        }

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeUTF(within.name);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            within.name = in.readUTF();
        }
    }

    static class Named implements NamedSplit {
        private String name;

        @Override
        public String getName() {
            return name;
        }
    }

    static class NamedFormat extends InputFormat<LongWritable, Text> {
        @Override
        public List<InputSplit> getSplits(JobContext context) {
            Wrapper split = new Wrapper();
            split.within.name = context.getConfiguration().get("test.name");
            return List.of(split);
        }

        @Override
        public RecordReader<LongWritable, Text> createRecordReader(InputSplit split, TaskAttemptContext context) {
            return new RecordReader<>() {
                private boolean read;

                @Override
                public void initialize(InputSplit part, TaskAttemptContext task) {
                    DECODED.incrementAndGet();
                }

                @Override
                public boolean nextKeyValue() {
                    boolean found = !read;
                    read = true;
                    return found;
                }

                @Override
                public LongWritable getCurrentKey() {
                    return new LongWritable(0);
                }

                @Override
                public Text getCurrentValue() {
                    return new Text("one two");
                }

                @Override
                public float getProgress() {
                    return 1;
                }

                @Override
                public void close() {}
            };
        }
    }

    @Test
    void keepsNothingOfASplitThatIsNotReadToItsEnd() throws Exception {
        Job job = counting(newFolder());
        job.setMapperClass(ReadsOne.class);
        run(job, 0, 1);
        run(counting(newFolder()), 0, 1);
    }

    static class ReadsOne extends Jobs.Words {
        @Override
        public void run(Context context) throws IOException, InterruptedException {
            context.nextKeyValue();
            map(context.getCurrentKey(), context.getCurrentValue(), context);
        }
    }

    @Test
    void isNotChangedByMappersThatChangeTheirInput() throws Exception {
        for (int round = 0; round < 3; round++) {
            Job job = Jobs.wordCount(conf, in, newFolder());
            job.setMapperClass(Shout.class);
            run(job, round == 0 ? 0 : 1, round == 0 ? 1 : 0);
            assertEquals(
                    "ONE TWO TWO\t1\nTHREE THREE THREE\t1\n",
                    Files.readString(folder.resolve("out" + round + "/part-r-00000")));
        }
        run(counting(newFolder()), 1, 0);
    }

    @Test
    void keepsNothingOfAJobThatFails() throws Exception {
        conf.setInt("mapreduce.reduce.maxattempts", 1);
        Job job = counting(folder.resolve("failed"));
        job.setReducerClass(FailsAtTheEnd.class);
        long before = used();
        assertTrue(!job.waitForCompletion(false));
        run(counting(newFolder()), 1, 0);
        assertTrue(used() - before < 20_000, "more is held than the input and the counts of the second job");
    }

    private long used() {
        return org.tegula.hadoop.cache.PairCache.shared(conf).usedBytes();
    }

    static class FailsAtTheEnd extends org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer<Text> {
        @Override
        protected void cleanup(Context context) {
            Iterator<Integer> nothing = List.<Integer>of().iterator();
            nothing.next();
        }
    }
}
