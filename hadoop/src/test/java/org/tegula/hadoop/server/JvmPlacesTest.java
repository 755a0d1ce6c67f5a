package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.JarOf;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.Jvms;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.Trees;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.ImmutableOutput;
import org.tegula.hadoop.api.PlaceCounter;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** A server whose tasks run in JVMs of their own gives what one JVM gives, and outlives them. */
@Timeout(120)
class JvmPlacesTest {
    private static final int PLACES = 2;

    @TempDir
    private static Path shared;

    private static PlaceServer server;
    /** Some texts, and what the local runner makes of them with three reduces. */
    private static Path texts;

    private static Job right;

    @TempDir
    Path folder;

    private Configuration conf;

    @BeforeAll
    static void serve() throws Exception {
        server = new PlaceServer(shared, PLACES, Map.of(Settings.PLACES_JAVA_OPTS, "-Dtest.one=a,b  -Dtest.other=c"));
        texts = Files.createDirectories(shared.resolve("texts"));
        for (String name : List.of("words.md", "sort.md", "input.md")) {
            Files.copy(Trees.documentation().resolve(name), texts.resolve(name));
        }
        right = counting(Engines.LOCAL.conf(shared), shared.resolve("right"));
        assertTrue(right.waitForCompletion(false));
    }

    @AfterAll
    static void close() throws IOException {
        server.close();
        FileSystem.closeAll();
    }

    @BeforeEach
    void configure() {
        conf = server.conf(folder.resolve("client"));
    }

    private static Job counting(Configuration conf, Path out) throws IOException {
        Job job = Jobs.wordCount(conf, texts, out);
        job.setNumReduceTasks(3);
        return job;
    }

    private static void assertIsRight(Path out) throws IOException {
        assertEquals(Trees.read(shared.resolve("right")), Trees.read(out));
    }

    private static long counter(Job job, Enum<?> name) throws IOException {
        Counter found = job.getCounters().findCounter(name);
        return found.getValue();
    }

    @Test
    void writesWhatTheLocalRunnerWrites() throws Exception {
        Job ours = counting(conf, folder.resolve("ours"));
        assertTrue(ours.waitForCompletion(false));
        assertIsRight(folder.resolve("ours"));
        for (TaskCounter each :
                List.of(TaskCounter.MAP_INPUT_RECORDS, TaskCounter.MAP_OUTPUT_BYTES, TaskCounter.REDUCE_INPUT_GROUPS)) {
            assertEquals(counter(right, each), counter(ours, each), each.name());
        }
        assertEquals(
                counter(ours, TaskCounter.REDUCE_INPUT_RECORDS),
                counter(ours, PlaceCounter.PAIRS_STAYED) + counter(ours, PlaceCounter.PAIRS_MOVED));
        assertTrue(counter(ours, PlaceCounter.PAIRS_MOVED) > 0);
    }

    /** By the number alone. */
    public static final class Modulo extends Partitioner<IntWritable, BytesWritable> {
        @Override
        public int getPartition(IntWritable key, BytesWritable value, int partitions) {
            return key.get() % partitions;
        }
    }

    /** Passes pairs on as they are. */
    public static final class Same extends Mapper<IntWritable, BytesWritable, IntWritable, BytesWritable>
            implements ImmutableOutput {}

    /** Sends each value to all partitions. */
    public static final class Broadcasts extends Mapper<IntWritable, BytesWritable, IntWritable, BytesWritable>
            implements ImmutableOutput {
        @Override
        protected void map(IntWritable key, BytesWritable value, Context context)
                throws IOException, InterruptedException {
            for (int i = 0; i < context.getNumReduceTasks(); i++) {
                context.write(new IntWritable(i), value);
            }
        }
    }

    private Job pairs(Class<? extends Mapper<?, ?, ?, ?>> mapper, Path in, Path out, int partitions)
            throws IOException {
        Job job = Job.getInstance(conf);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setMapperClass(mapper);
        job.setPartitionerClass(Modulo.class);
        job.setReducerClass(Reducer.class);
        job.setNumReduceTasks(partitions);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(BytesWritable.class);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(in.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(out.toUri()));
        return job;
    }

    private Path write(int pairs, int bytes) throws IOException {
        return write(pairs, bytes, 1);
    }

    /** A file for each partition, as another engine would have made it. */
    private Path write(int pairs, int bytes, int partitions) throws IOException {
        for (int partition = 0; partition < partitions; partition++) {
            Path file = folder.resolve("in/part-r-0000" + partition);
            try (SequenceFile.Writer writer = SequenceFile.createWriter(
                    new Configuration(),
                    SequenceFile.Writer.file(new org.apache.hadoop.fs.Path(file.toUri())),
                    SequenceFile.Writer.keyClass(IntWritable.class),
                    SequenceFile.Writer.valueClass(BytesWritable.class))) {
                for (int i = partition; i < pairs; i += partitions) {
                    byte[] value = new byte[bytes];
                    value[0] = (byte) i;
                    writer.append(new IntWritable(i), new BytesWritable(value));
                }
            }
        }
        return folder.resolve("in");
    }

    @Test
    void noPairLeavesItsPlaceInASequenceOfJobs() throws Exception {
        Path in = write(200, 2000, 2 * PLACES);
        for (int round = 0; round < 3; round++) {
            Path out = folder.resolve("out" + round);
            Job job = pairs(Same.class, in, out, 2 * PLACES);
            assertTrue(job.waitForCompletion(false));
            assertEquals(round == 0 ? 0 : 2 * PLACES, counter(job, CacheCounter.SPLITS_FOUND));
            assertEquals(0, counter(job, PlaceCounter.PAIRS_MOVED));
            assertEquals(200, counter(job, PlaceCounter.PAIRS_STAYED));
            in = out;
        }
    }

    @Test
    void anObjectCrossesOnceForAllPartitionsOfAPlace() throws Exception {
        int pairs = 50;
        int bytes = 4000;
        int partitions = 4 * PLACES;
        Job job = pairs(Broadcasts.class, write(pairs, bytes), folder.resolve("out"), partitions);
        assertTrue(job.waitForCompletion(false));
        assertEquals((long) pairs * partitions, counter(job, TaskCounter.REDUCE_OUTPUT_RECORDS));
        assertEquals((long) pairs * partitions / PLACES, counter(job, PlaceCounter.PAIRS_MOVED));
        assertEquals((long) pairs * (partitions / PLACES - 1), counter(job, PlaceCounter.PAIRS_SHARED));
        assertTrue(counter(job, PlaceCounter.BYTES_MOVED) < 1.1 * pairs * bytes);
    }

    /** Of a file in memory, the driver has the name and the place has the pairs. */
    @Test
    void temporaryOutputsStayAtTheirPlaces() throws Exception {
        conf.set("fs.file.impl", CachedLocalFileSystem.class.getName());
        conf.setBoolean("fs.file.impl.disable.cache", true);
        Path first = folder.resolve("temp-first");
        Job job = pairs(Same.class, write(200, 2000), first, 2 * PLACES);
        assertTrue(job.waitForCompletion(false));
        assertFalse(Files.exists(first.resolve("part-r-00000")));
        for (String kept : List.of("again", "temp-again")) {
            Job again = pairs(Same.class, first, folder.resolve(kept), 2 * PLACES);
            assertTrue(again.waitForCompletion(false));
            assertEquals(2 * PLACES, counter(again, CacheCounter.SPLITS_FOUND));
            assertEquals(0, counter(again, PlaceCounter.PAIRS_MOVED));
            assertFalse(Files.exists(first.resolve("part-r-00000")));
        }
        assertTrue(Files.exists(folder.resolve("again/part-r-00000")));
        org.apache.hadoop.fs.Path part =
                new org.apache.hadoop.fs.Path(first.resolve("part-r-00000").toUri());
        int read = 0;
        try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, SequenceFile.Reader.file(part))) {
            IntWritable key = new IntWritable();
            BytesWritable value = new BytesWritable();
            for (; reader.next(key, value); read++) {
                assertEquals((byte) key.get(), value.getBytes()[0]);
            }
        }
        assertEquals(200 / (2 * PLACES), read);
        assertFalse(halting(true, "lost").waitForCompletion(false));
        Job late = pairs(Same.class, folder.resolve("temp-again"), folder.resolve("late"), 2 * PLACES);
        assertFalse(late.waitForCompletion(false));
        String why = late.getStatus().getFailureInfo();
        assertTrue(why.contains("was lost: it alone had "), why);
        assertTrue(why.contains("temp-again/part-r-0000"), why);
    }

    @Test
    void saysWhatAProgramThrewAtAPlace() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(Throws.class);
        job.setMaxMapAttempts(2);
        assertFalse(job.waitForCompletion(false));
        String why = job.getStatus().getFailureInfo();
        assertTrue(why.contains("Error: java.io.IOException: no luck"), why);
        assertTrue(why.contains("at " + Throws.class.getName()), why);
        assertFalse(Files.exists(folder.resolve("out/_SUCCESS")));
    }

    static class Throws extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void setup(Context context) throws IOException {
            throw new IOException("no luck");
        }
    }

    /** Ends its JVM in the first run of the job. */
    public static class HaltsInAMap extends Jobs.Words {
        @Override
        protected void cleanup(Context context) {
            if (context.getTaskAttemptID().getId() == 0
                    && context.getTaskAttemptID().getTaskID().getId() == 1) {
                Runtime.getRuntime().halt(137);
            }
        }
    }

    /** The same in a reduce. */
    public static class HaltsInAReduce extends Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        protected void reduce(Text word, Iterable<IntWritable> counts, Context context)
                throws IOException, InterruptedException {
            if (context.getTaskAttemptID().getId() == 0
                    && context.getTaskAttemptID().getTaskID().getId() == 1) {
                Runtime.getRuntime().halt(137);
            }
            int sum = 0;
            for (IntWritable each : counts) {
                sum += each.get();
            }
            context.write(word, new IntWritable(sum));
        }
    }

    /** The same, with a promise. */
    public static final class HaltsInAReduceForGood extends HaltsInAReduce implements ImmutableOutput {}

    private Job halting(boolean inMap, String out) throws IOException {
        Job job = counting(conf, folder.resolve(out));
        if (inMap) {
            job.setMapperClass(HaltsInAMap.class);
        } else {
            job.setReducerClass(HaltsInAReduce.class);
        }
        return job;
    }

    @Test
    void aLostPlaceFailsTheJobByItsNameAndIsReplaced() throws Exception {
        Job lost = halting(true, "lost");
        assertFalse(lost.waitForCompletion(false));
        String why = lost.getStatus().getFailureInfo();
        assertTrue(why.matches("Place [01] \\(process \\d+\\) was lost: its connection ended"), why);
        assertFalse(Files.exists(folder.resolve("lost/_temporary")));
        assertTrue(counting(conf, folder.resolve("next")).waitForCompletion(false));
    }

    @Test
    void aJobRunsAgainIfItWantsTo() throws Exception {
        Job job = halting(false, "ours");
        job.getConfiguration().setInt(Settings.PLACES_RERUNS, 1);
        assertTrue(job.waitForCompletion(false));
        assertIsRight(folder.resolve("ours"));
    }

    /** The first run has made the output, but its note is for the run that succeeds. */
    @Test
    void aTemporaryOutputOfAJobThatRunsAgainIsSaidToBeInMemory() throws Exception {
        conf.set("fs.file.impl", CachedLocalFileSystem.class.getName());
        conf.setBoolean("fs.file.impl.disable.cache", true);
        Job job = halting(false, "temp-ours");
        job.setReducerClass(HaltsInAReduceForGood.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.getConfiguration().setInt(Settings.PLACES_RERUNS, 1);
        assertTrue(job.waitForCompletion(false));
        assertFalse(Files.exists(folder.resolve("temp-ours/part-r-00000")));
        String said = job.getStatus().getSchedulingInfo();
        assertTrue(said.contains("temp-ours is in the memory of the engine alone"), said);
    }

    /** At least one place: another JVM may be on its way for one that was killed. */
    private static List<ProcessHandle> alive() throws InterruptedException {
        for (int wait = 0; wait < 400 && PlaceServer.processes().isEmpty(); wait++) {
            Thread.sleep(100);
        }
        List<ProcessHandle> alive = PlaceServer.processes();
        assertFalse(alive.isEmpty(), "there is no place to kill");
        return alive;
    }

    /**
     * With {@code -Dplaces.kills=100}: processes of places are killed at moments that {@code -Dplaces.seed=1} draws, and
     * the bytes are right.
     */
    @Test
    @EnabledIfSystemProperty(named = "places.kills", matches = "[0-9]+")
    @Timeout(3600)
    void jobsOutliveKilledPlaces() throws Exception {
        Random random = new Random(Long.getLong("places.seed", 1));
        for (int kill = Integer.getInteger("places.kills"); kill > 0; kill--) {
            Path out = folder.resolve("out" + kill);
            Job job = counting(conf, out);
            boolean again = random.nextBoolean();
            job.getConfiguration().setInt(Settings.PLACES_RERUNS, again ? 3 : 0);
            job.submit();
            Thread.sleep(random.nextInt(1500));
            List<ProcessHandle> alive = alive();
            alive.get(random.nextInt(alive.size())).destroyForcibly();
            if (job.waitForCompletion(false)) {
                assertIsRight(out);
            } else {
                String why = job.getStatus().getFailureInfo();
                assertTrue(!again && why.startsWith("Place "), why);
            }
        }
    }

    /** Reads a file of the distributed cache in its working folder. */
    public static class ReadsAFile extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            context.write(new Text(Files.readString(Path.of("a-name"))), new IntWritable(1));
        }
    }

    @Test
    void placesHaveTheDistributedCache() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\ny\n");
        Files.writeString(folder.resolve("file"), "content");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(ReadsAFile.class);
        job.addCacheFile(java.net.URI.create(folder.resolve("file").toUri() + "#a-name"));
        assertTrue(job.waitForCompletion(false));
        assertEquals("content\t2\n", Files.readString(folder.resolve("out/part-r-00000")));
    }

    /** Emits what the options of its JVM have set. */
    public static class TellsOptions extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            for (String name : List.of("test.one", "test.other")) {
                context.write(new Text(System.getProperty(name)), new IntWritable(1));
            }
        }
    }

    @Test
    void optionsOfPlacesMayHaveCommas() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(TellsOptions.class);
        assertTrue(job.waitForCompletion(false));
        assertEquals("a,b\t1\nc\t1\n", Files.readString(folder.resolve("out/part-r-00000")));
    }

    /** A program on the class path that keeps a count in a static field, as some do for all tasks of a container. */
    private static final String COUNTS =
            """
            import java.nio.file.Path;
            import org.apache.hadoop.conf.Configuration;
            import org.apache.hadoop.io.*;
            import org.apache.hadoop.mapreduce.*;
            import org.tegula.hadoop.*;
            public class Counts extends Mapper<LongWritable, Text, Text, IntWritable> {
                private static int calls;
                @Override
                protected void map(LongWritable key, Text value, Context context)
                        throws java.io.IOException, InterruptedException {
                    context.write(value, new IntWritable(++calls));
                }
                public static void main(String[] folder) throws Exception {
                    Configuration conf = Engines.TEGULA.conf(Path.of(folder[0], "tmp"));
                    conf.set(Settings.PLACES, "jvm:1");
                    for (String out : new String[] {"one", "two"}) {
                        Job job = Jobs.wordCount(conf, Path.of(folder[0], "in.txt"), Path.of(folder[0], out));
                        job.setJarByClass(Counts.class);
                        job.setMapperClass(Counts.class);
                        if (!job.waitForCompletion(false)) {
                            throw new IllegalStateException(job.getStatus().getFailureInfo());
                        }
                    }
                    System.exit(0);
                }
            }
            """;

    @Test
    void anEarlierJobLeavesNoStaticStateAtAPlace() throws Exception {
        Path jar = JarOf.source(Files.createDirectories(folder.resolve("jar")), "Counts", COUNTS);
        Files.writeString(folder.resolve("in.txt"), "x\ny\n");
        List<String> command = Jvms.command(JvmPlacesTest.class);
        command.set(command.size() - 2, System.getProperty("java.class.path") + ":" + jar);
        command.set(command.size() - 1, "Counts");
        command.add(folder.toString());
        Process program = new ProcessBuilder(command).inheritIO().start();
        assertTrue(program.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, program.exitValue());
        for (String out : List.of("one", "two")) {
            assertEquals("x\t1\ny\t2\n", Files.readString(folder.resolve(out).resolve("part-r-00000")), out);
        }
    }

    @Test
    void aJvmThatDoesNotStartIsNotStartedForEver() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Path own = Files.createDirectories(folder.resolve("own"));
        try (PlaceServer other =
                new PlaceServer(own, 1, Map.of(Settings.PLACES_JAVA_OPTS, "-XX:+NoSuchOptionOfATest"))) {
            Job job = Jobs.wordCount(other.conf(own), folder.resolve("in.txt"), folder.resolve("out"));
            assertFalse(job.waitForCompletion(false));
            String why = job.getStatus().getFailureInfo();
            assertTrue(why.startsWith("Place 0 was lost: its JVM ended 4 times before it connected"), why);
            assertTrue(why.contains(Settings.PLACES_JAVA_OPTS), why);
        }
    }

    /** Text whose committer waits, deaf to interrupts, before its first commit, and writes down which attempts it commits. */
    public static final class SlowlyCommitted extends TextOutputFormat<Text, IntWritable> {
        static final String FOLDER = "slowly.folder";

        @Override
        public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context) throws IOException {
            Path folder = Path.of(context.getConfiguration().get(FOLDER));
            return new FileOutputCommitter(FileOutputFormat.getOutputPath(context), context) {
                @Override
                public boolean needsTaskCommit(TaskAttemptContext task) throws IOException {
                    if (task.getTaskAttemptID().getId() == 0) {
                        Files.createFile(folder.resolve("waits"));
                        while (!Files.exists(folder.resolve("go"))) {
                            LockSupport.parkNanos(5_000_000);
                            Thread.interrupted();
                        }
                    }
                    return super.needsTaskCommit(task);
                }

                @Override
                public void commitTask(TaskAttemptContext task) throws IOException {
                    Files.createFile(folder.resolve(
                            "committed-" + task.getTaskAttemptID().getId()));
                    super.commitTask(task);
                }
            };
        }
    }

    @Test
    void anAttemptThatWasKilledCommitsNothing() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x y x\n");
        conf.set(SlowlyCommitted.FOLDER, folder.toString());
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setOutputFormatClass(SlowlyCommitted.class);
        job.submit();
        while (!Files.exists(folder.resolve("waits"))) {
            Thread.sleep(5);
        }
        TaskID task = new TaskID(job.getJobID(), TaskType.REDUCE, 0);
        job.killTask(new TaskAttemptID(task, 0));
        Thread.sleep(300);
        Files.createFile(folder.resolve("go"));
        assertTrue(job.waitForCompletion(false));
        assertEquals("x\t2\ny\t1\n", Files.readString(folder.resolve("out/part-r-00000")));
        assertFalse(Files.exists(folder.resolve("committed-0")));
        assertTrue(Files.exists(folder.resolve("committed-1")));
    }

    /** Sleeps until it is stopped. */
    public static class Sleeps extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws InterruptedException {
            Thread.sleep(100_000);
        }
    }

    @Test
    void tasksAtPlacesAreKilled() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(Sleeps.class);
        job.submit();
        while (job.getTaskReports(TaskType.MAP).length == 0) {
            Thread.sleep(10);
        }
        long before = System.nanoTime();
        job.killJob();
        assertFalse(job.waitForCompletion(false));
        assertTrue(System.nanoTime() - before < 4_000_000_000L, "the task was not interrupted");
        assertFalse(Files.exists(folder.resolve("out/_temporary")));
    }
}
