package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.FileAlreadyExistsException;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RunningJob;
import org.apache.hadoop.mapreduce.FileSystemCounter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter;
import org.apache.hadoop.mapreduce.lib.output.MultipleOutputs;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.CacheFS;
import org.tegula.hadoop.api.ImmutableOutput;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** Outputs that only later jobs want never touch the disk, and all who ask Hadoop for them find them. */
@Timeout(120)
class TemporaryOutputsTest {
    @TempDir
    Path folder;

    private Configuration conf;
    private FileSystem files;
    private Path in;

    @BeforeEach
    void configure() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setClass("fs.file.impl", CachedLocalFileSystem.class, FileSystem.class);
        conf.setBoolean("fs.file.impl.disable.cache", true);
        files = FileSystem.get(conf);
        in = Files.writeString(folder.resolve("in.txt"), "one two two\nthree three three\n");
    }

    @AfterEach
    void delete() throws IOException {
        files.delete(hadoop(folder), true);
    }

    private static org.apache.hadoop.fs.Path hadoop(Path path) {
        return new org.apache.hadoop.fs.Path(path.toUri());
    }

    private Job counting(Path out) throws IOException {
        Job job = Jobs.wordCount(conf, in, out);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        return job;
    }

    private String print(Path from, Path out, int found) throws Exception {
        Job job = Job.getInstance(conf);
        job.setNumReduceTasks(0);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        FileInputFormat.addInputPath(job, hadoop(from));
        FileOutputFormat.setOutputPath(job, hadoop(out));
        assertTrue(job.waitForCompletion(false));
        assertEquals(
                found, job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        return Files.readString(out.resolve("part-m-00000"));
    }

    @Test
    void keepsAnOutputOffTheDiskAndHandsItsPairsOn() throws Exception {
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertFalse(Files.exists(counts));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", print(counts, folder.resolve("text"), 1));
        assertEquals(List.of("_SUCCESS", "part-r-00000"), names(files, counts));
        assertFalse(Files.exists(counts));
    }

    @Test
    void isReadByWhoeverIsNoJob() throws Exception {
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        org.apache.hadoop.fs.Path part = new org.apache.hadoop.fs.Path(hadoop(counts), "part-r-00000");
        Text key = new Text();
        try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, SequenceFile.Reader.file(part))) {
            assertTrue(reader.next(key, new IntWritable()));
        }
        assertEquals("one", key.toString());
        Path copy = folder.resolve("copy");
        files.copyToLocalFile(false, part, hadoop(copy), true);
        try (FSDataInputStream opened = files.open(part)) {
            assertEquals(Files.size(copy), opened.readAllBytes().length);
        }
        assertFalse(Files.exists(counts));
        assertTrue(Files.exists(((CachedLocalFileSystem) files).pathToFile(part).toPath()));
    }

    @Test
    void showsAProgramWhatIsKept() throws Exception {
        Path counts = folder.resolve("counts");
        Path temporary = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(counting(temporary).waitForCompletion(false));
        CacheFS cached = (CacheFS) files;
        FileSystem raw = cached.getRawCache();
        assertEquals(List.of("counts", "in.txt", "temp-counts"), names(raw, folder));
        assertEquals(List.of("part-r-00000"), names(raw, counts));
        org.apache.hadoop.fs.Path part = new org.apache.hadoop.fs.Path(hadoop(counts), "part-r-00000");
        StringBuilder pairs = new StringBuilder();
        try (RecordReader<Writable, Writable> reader = cached.getCacheRecordReader(part)) {
            while (reader.nextKeyValue()) {
                pairs.append(reader.getCurrentKey()).append(' ').append(reader.getCurrentValue());
                pairs.append('\n');
            }
        }
        assertEquals("one 1\nthree 3\ntwo 2\n", pairs.toString());
        assertThrows(UnsupportedOperationException.class, () -> raw.rename(part, hadoop(in)));
        assertTrue(raw.delete(hadoop(counts), true));
        assertTrue(raw.delete(hadoop(temporary), true));
        assertNull(cached.getCacheRecordReader(part));
        assertTrue(files.exists(part));
        assertFalse(files.exists(hadoop(temporary)));
        assertEquals(List.of("in.txt"), names(raw, folder));
        assertThrows(FileNotFoundException.class, () -> raw.open(part));
    }

    private static List<String> names(FileSystem system, Path place) throws IOException {
        TreeSet<String> names = new TreeSet<>();
        for (FileStatus each : system.listStatus(hadoop(place))) {
            names.add(each.getPath().getName());
        }
        return List.copyOf(names);
    }

    @Test
    void isRefusedIfItIsThereAndGoesWhenItIsDeleted() throws Exception {
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertThrows(FileAlreadyExistsException.class, () -> counting(counts).waitForCompletion(false));
        assertTrue(files.delete(hadoop(counts), true));
        assertFalse(files.exists(hadoop(counts)));
        assertTrue(counting(counts).waitForCompletion(false));
    }

    @Test
    void keepsItsPairsUnderANewName() throws Exception {
        Path counts = folder.resolve("temp-counts");
        Path other = folder.resolve("kept");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(files.rename(hadoop(counts), hadoop(other)));
        assertFalse(files.exists(hadoop(counts)));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", print(other, folder.resolve("text"), 1));
        assertFalse(Files.exists(other));
    }

    @Test
    void isChosenByAPrefixOrAList() throws Exception {
        conf.set(Settings.TEMPORARY_PREFIX, Settings.TEMPORARY_PREFIX_NONE);
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(Files.exists(counts.resolve("part-r-00000")));
        conf.set(Settings.TEMPORARY_PATHS, "/nowhere," + folder.resolve("listed"));
        assertTrue(counting(folder.resolve("listed")).waitForCompletion(false));
        assertFalse(Files.exists(folder.resolve("listed")));
        conf.set(Settings.TEMPORARY_PREFIX, "scratch");
        assertTrue(counting(folder.resolve("scratch-1")).waitForCompletion(false));
        assertFalse(Files.exists(folder.resolve("scratch-1")));
    }

    @Test
    void staysOnTheDiskWhereOthersWouldNotFindItInMemory() throws Exception {
        conf.setClass("fs.file.impl", LocalFileSystem.class, FileSystem.class);
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(Files.exists(counts.resolve("part-r-00000")));
    }

    @Test
    void leavesNothingOfAJobThatFails() throws Exception {
        PairCache cache = PairCache.shared(conf);
        cache.clear();
        long before = cache.usedBytes();
        conf.setInt("mapreduce.reduce.maxattempts", 2);
        for (Class<? extends Reducer<Text, IntWritable, Text, IntWritable>> bad : List.of(Fails.class, Breaks.class)) {
            Path counts = folder.resolve("temp-" + bad.getSimpleName());
            Job job = counting(counts);
            job.setReducerClass(bad);
            assertFalse(job.waitForCompletion(false));
            assertEquals(0, files.listStatus(hadoop(counts)).length);
            assertFalse(Files.exists(counts));
        }
        cache.clear();
        assertEquals(before, cache.usedBytes());
    }

    /** Fails after it has written. */
    public static class Fails extends Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            context.write(key, values.iterator().next());
        }

        @Override
        protected void cleanup(Context context) {
            throw new IllegalStateException("meant to fail");
        }
    }

    /** The same, with a promise. */
    public static final class Breaks extends Fails implements ImmutableOutput {}

    /** Makes large pairs of lines. */
    public static class Widens extends Mapper<LongWritable, Text, Text, Text> {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            int number = Integer.parseInt(line.toString());
            context.write(new Text(line), new Text("x".repeat(number % 2_000)));
        }
    }

    /** The same, with a promise. */
    public static final class WidensForGood extends Widens implements ImmutableOutput {}

    /** Tells how many bytes each value has. */
    public static final class Measures extends Mapper<Text, Text, Text, IntWritable> {
        @Override
        protected void map(Text key, Text value, Context context) throws IOException, InterruptedException {
            context.write(key, new IntWritable(value.getLength()));
        }
    }

    private Job widening(Path lines, Path out, Class<? extends Mapper<LongWritable, Text, Text, Text>> mapper)
            throws IOException {
        Job job = Job.getInstance(conf);
        job.setMapperClass(mapper);
        job.setNumReduceTasks(mapper == Widens.class ? 0 : 1);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(Text.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        FileInputFormat.addInputPath(job, hadoop(lines));
        FileOutputFormat.setOutputPath(job, hadoop(out));
        return job;
    }

    private Path numbers(int count) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < count; i++) {
            lines.append(i).append('\n');
        }
        return Files.writeString(folder.resolve("numbers"), lines);
    }

    /** Splits, their records and all bytes that are counted are those of a file on the disk. */
    @ParameterizedTest
    @ValueSource(classes = {Widens.class, WidensForGood.class})
    void isCountedAndCutLikeAFileOnTheDisk(Class<? extends Mapper<LongWritable, Text, Text, Text>> mapper)
            throws Exception {
        Path lines = numbers(1_500);
        List<List<Object>> seen = new ArrayList<>();
        for (String name : List.of("wide", "temp-wide")) {
            Path wide = folder.resolve(name);
            Job job = widening(lines, wide, mapper);
            assertTrue(job.waitForCompletion(false));
            Job measuring = Job.getInstance(conf);
            measuring.setMapperClass(Measures.class);
            measuring.setNumReduceTasks(0);
            measuring.setInputFormatClass(SequenceFileInputFormat.class);
            FileInputFormat.setMaxInputSplitSize(measuring, 150_000);
            FileInputFormat.addInputPath(measuring, hadoop(wide));
            FileOutputFormat.setOutputPath(measuring, hadoop(folder.resolve("measured-" + name)));
            assertTrue(measuring.waitForCompletion(false));
            assertEquals(name.equals("wide"), Files.exists(wide));
            long maps = measuring
                    .getCounters()
                    .findCounter(JobCounter.TOTAL_LAUNCHED_MAPS)
                    .getValue();
            assertTrue(maps > 5, maps + " maps");
            if (name.equals("temp-wide")) {
                assertEquals(
                        maps,
                        measuring
                                .getCounters()
                                .findCounter(CacheCounter.SPLITS_FOUND)
                                .getValue());
            }
            List<Object> all = new ArrayList<>();
            all.add(job.getCounters()
                    .findCounter(FileOutputFormatCounter.BYTES_WRITTEN)
                    .getValue());
            all.add(job.getCounters()
                    .findCounter("file", FileSystemCounter.BYTES_WRITTEN)
                    .getValue());
            for (int map = 0; map < maps; map++) {
                all.add(Files.readString(
                        folder.resolve("measured-" + name).resolve(String.format("part-m-%05d", map))));
            }
            seen.add(all);
        }
        assertEquals(seen.get(0), seen.get(1));
    }

    @Test
    void isNotWhateverBeginsWithTheSameLetters() throws Exception {
        for (String name : List.of("temperatures", "temp1")) {
            assertTrue(counting(folder.resolve(name)).waitForCompletion(false));
            assertTrue(Files.exists(folder.resolve(name).resolve("_SUCCESS")), name);
        }
        for (String name : List.of("temp", "temp_1")) {
            Job job = counting(folder.resolve(name));
            assertTrue(job.waitForCompletion(false));
            assertFalse(Files.exists(folder.resolve(name)), name);
            String said = job.getStatus().getSchedulingInfo();
            assertTrue(said.contains(name + " is in the memory of the engine alone"), said);
        }
    }

    @Test
    void goesToTheDiskWhenNobodyUsesIt() throws Exception {
        conf.setInt("tegula.temporary.seconds", 1);
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        for (String each : List.of("part-r-00000", "_SUCCESS")) {
            while (!Files.exists(counts.resolve(each))) {
                Thread.sleep(20);
            }
        }
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", print(counts, folder.resolve("text"), 0));
    }

    @Test
    void mayBeCompressed() throws Exception {
        conf.setBoolean("mapreduce.output.fileoutputformat.compress", true);
        conf.set("mapreduce.output.fileoutputformat.compress.type", "BLOCK");
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertFalse(Files.exists(counts));
        conf.setBoolean("mapreduce.output.fileoutputformat.compress", false);
        try (SequenceFile.Reader reader = new SequenceFile.Reader(
                conf, SequenceFile.Reader.file(new org.apache.hadoop.fs.Path(hadoop(counts), "part-r-00000")))) {
            assertTrue(reader.isBlockCompressed());
        }
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", print(counts, folder.resolve("text"), 1));
    }

    /** Sends words to a file for each. */
    public static final class Sorts extends Reducer<Text, IntWritable, Text, IntWritable> {
        private MultipleOutputs<Text, IntWritable> outputs;

        @Override
        protected void setup(Context context) {
            outputs = new MultipleOutputs<>(context);
        }

        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            for (IntWritable value : values) {
                outputs.write("words", key, value, key + "/part");
                context.write(key, value);
            }
        }

        @Override
        protected void cleanup(Context context) throws IOException, InterruptedException {
            outputs.close();
        }
    }

    @Test
    void hasFilesOfOtherWriters() throws Exception {
        Path counts = folder.resolve("temp-counts");
        Job job = counting(counts);
        job.setReducerClass(Sorts.class);
        MultipleOutputs.addNamedOutput(job, "words", SequenceFileOutputFormat.class, Text.class, IntWritable.class);
        assertTrue(job.waitForCompletion(false));
        assertFalse(Files.exists(counts));
        assertEquals(List.of("_SUCCESS", "one", "part-r-00000", "three", "two"), names(files, counts));
        assertEquals("two\t2\n", print(counts.resolve("two"), folder.resolve("text"), 1));
        for (String each : List.of("one", "two", "three")) {
            assertTrue(files.delete(hadoop(counts.resolve(each)), true));
        }
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", print(counts, folder.resolve("all"), 1));
    }

    @Test
    void isWrittenAndReadByTheOlderInterface() throws Exception {
        JobConf first = new JobConf(conf);
        first.setInputFormat(org.apache.hadoop.mapred.KeyValueTextInputFormat.class);
        first.setOutputFormat(org.apache.hadoop.mapred.SequenceFileOutputFormat.class);
        first.setOutputKeyClass(Text.class);
        first.setOutputValueClass(Text.class);
        org.apache.hadoop.mapred.FileInputFormat.addInputPath(first, hadoop(in));
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(first, hadoop(folder.resolve("temp-lines")));
        JobClient.runJob(first);
        assertFalse(Files.exists(folder.resolve("temp-lines")));
        JobConf second = new JobConf(conf);
        second.setInputFormat(org.apache.hadoop.mapred.SequenceFileInputFormat.class);
        second.setOutputKeyClass(Text.class);
        second.setOutputValueClass(Text.class);
        org.apache.hadoop.mapred.FileInputFormat.addInputPath(second, hadoop(folder.resolve("temp-lines")));
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(second, hadoop(folder.resolve("text")));
        RunningJob done = JobClient.runJob(second);
        assertEquals(
                1, done.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        assertEquals(
                "one two two\t\nthree three three\t\n".lines().sorted().toList(),
                Files.readAllLines(folder.resolve("text/part-00000")));
    }
}
