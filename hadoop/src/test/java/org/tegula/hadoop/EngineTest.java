package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.RunningJob;
import org.apache.hadoop.mapreduce.Cluster;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobPriority;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client sees the engine as it sees Hadoop. */
@Timeout(120)
class EngineTest {
    @TempDir
    Path folder;

    private Configuration conf;

    @BeforeEach
    void configure() {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
    }

    private static final List<Enum<?>> COUNTERS = List.of(
            TaskCounter.MAP_INPUT_RECORDS,
            TaskCounter.MAP_OUTPUT_RECORDS,
            TaskCounter.MAP_OUTPUT_BYTES,
            TaskCounter.SPLIT_RAW_BYTES,
            TaskCounter.COMBINE_INPUT_RECORDS,
            TaskCounter.COMBINE_OUTPUT_RECORDS,
            TaskCounter.REDUCE_INPUT_GROUPS,
            TaskCounter.REDUCE_INPUT_RECORDS,
            TaskCounter.REDUCE_OUTPUT_RECORDS,
            TaskCounter.SHUFFLED_MAPS,
            TaskCounter.MERGED_MAP_OUTPUTS,
            FileInputFormatCounter.BYTES_READ,
            FileOutputFormatCounter.BYTES_WRITTEN);

    @Test
    void countsAsTheLocalRunnerDoes() throws Exception {
        Path texts = Trees.documentation().resolve("words.md");
        Job right = Jobs.wordCount(Engines.LOCAL.conf(folder.resolve("tmp")), texts, folder.resolve("right"));
        Job ours = Jobs.wordCount(conf, texts, folder.resolve("ours"));
        assertTrue(right.waitForCompletion(false));
        assertTrue(ours.waitForCompletion(false));
        Counters expected = right.getCounters();
        for (Enum<?> counter : COUNTERS) {
            assertEquals(
                    expected.findCounter(counter).getValue(),
                    ours.getCounters().findCounter(counter).getValue(),
                    counter.name());
        }
    }

    @Test
    void reportsTasksJobsAndQueues() throws Exception {
        Job job = Jobs.wordCount(conf, Trees.documentation().resolve("*.md"), folder.resolve("out"));
        job.setNumReduceTasks(2);
        job.setPriority(JobPriority.HIGH);
        assertTrue(job.waitForCompletion(false));
        int maps = job.getTaskReports(TaskType.MAP).length;
        assertTrue(maps > 10);
        assertEquals(2, job.getTaskReports(TaskType.REDUCE).length);
        assertEquals(maps + 2, job.getTaskCompletionEvents(0, 1000).length);
        assertEquals(maps, job.getTaskCompletionEvents(2, 1000).length);
        assertEquals(1f, job.mapProgress());
        assertEquals(1f, job.reduceProgress());
        Cluster cluster = new Cluster(conf);
        assertEquals("default", cluster.getQueues()[0].getQueueName());
        boolean listed = false;
        for (var status : cluster.getAllJobStatuses()) {
            listed |= status.getJobID().equals(job.getJobID());
        }
        assertTrue(listed);
        cluster.close();
        assertFalse(Files.exists(Path.of(job.getStatus().getJobFile().substring("file:".length()))));
    }

    @Test
    void runsAnOldMapperWithANewReducer() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "b a\nb\n");
        JobConf old = new JobConf(conf);
        old.setMapperClass(OldWords.class);
        old.setMapOutputKeyClass(Text.class);
        old.setMapOutputValueClass(IntWritable.class);
        old.setBoolean("mapred.reducer.new-api", true);
        old.setClass(
                "mapreduce.job.reduce.class",
                org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer.class,
                org.apache.hadoop.mapreduce.Reducer.class);
        old.setCombinerClass(OldSum.class);
        org.apache.hadoop.mapred.FileInputFormat.setInputPaths(
                old, folder.resolve("in.txt").toString());
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(
                old, new org.apache.hadoop.fs.Path(folder.resolve("out").toString()));
        RunningJob job = JobClient.runJob(old);
        assertTrue(job.isSuccessful());
        assertEquals("a\t1\nb\t2\n", Files.readString(folder.resolve("out/part-r-00000")));
    }

    static class OldWords extends MapReduceBase
            implements org.apache.hadoop.mapred.Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        public void map(LongWritable key, Text line, OutputCollector<Text, IntWritable> out, Reporter reporter)
                throws IOException {
            for (String word : line.toString().split(" ")) {
                out.collect(new Text(word), new IntWritable(1));
            }
        }
    }

    static class OldSum extends MapReduceBase
            implements org.apache.hadoop.mapred.Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        public void reduce(
                Text key, Iterator<IntWritable> values, OutputCollector<Text, IntWritable> out, Reporter reporter)
                throws IOException {
            int sum = 0;
            while (values.hasNext()) {
                sum += values.next().get();
            }
            out.collect(key, new IntWritable(sum));
        }
    }

    @Test
    void runsAJobWithoutMapsAndOneWithoutReduces() throws Exception {
        Files.createDirectories(folder.resolve("empty"));
        Job nothing = Jobs.wordCount(conf, folder.resolve("empty"), folder.resolve("nothing"));
        assertTrue(nothing.waitForCompletion(false));
        assertEquals("", Files.readString(folder.resolve("nothing/part-r-00000")));

        Files.writeString(folder.resolve("in.txt"), "b a\n");
        Job mapOnly = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("maps"));
        mapOnly.setNumReduceTasks(0);
        assertTrue(mapOnly.waitForCompletion(false));
        assertEquals("b\t1\na\t1\n", Files.readString(folder.resolve("maps/part-m-00000")));
        assertTrue(Files.exists(folder.resolve("maps/_SUCCESS")));
    }

    @Test
    void runsJobsOfManyThreadsAtOnce() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(6);
        List<Future<String>> outputs = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            Path out = folder.resolve("out" + i);
            outputs.add(threads.submit(() -> {
                Job job = Jobs.wordCount(conf, Trees.documentation().resolve("words.md"), out);
                assertTrue(job.waitForCompletion(false));
                return Files.readString(out.resolve("part-r-00000"));
            }));
        }
        for (Future<String> output : outputs) {
            assertEquals(outputs.get(0).get(), output.get());
        }
        threads.shutdown();
    }

    @Test
    void linksCachedFilesInTheWorkingFolder() throws Exception {
        Path cached = Files.writeString(folder.resolve("cached.txt"), "from the cache");
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(ReadsLink.class);
        job.addCacheFile(java.net.URI.create(cached.toUri() + "#linked-by-engine-test"));
        assertTrue(job.waitForCompletion(false));
        assertEquals("from the cache\t1\n", Files.readString(folder.resolve("out/part-r-00000")));
        assertFalse(Files.exists(Path.of("linked-by-engine-test")));
    }

    static class ReadsLink extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            context.write(new Text(Files.readString(Path.of("linked-by-engine-test"))), new IntWritable(1));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void loadsClassesOfTheJobsOwnLibraries(boolean isolated) throws Exception {
        conf.setBoolean("mapreduce.job.classloader", isolated);
        File source = folder.resolve("OnlyHere.java").toFile();
        Files.writeString(source.toPath(), "public class OnlyHere { }");
        javax.tools.ToolProvider.getSystemJavaCompiler().run(null, null, null, source.toString());
        Path jar = folder.resolve("library.jar");
        try (var out = new java.util.jar.JarOutputStream(Files.newOutputStream(jar))) {
            out.putNextEntry(new java.util.zip.ZipEntry("OnlyHere.class"));
            out.write(Files.readAllBytes(folder.resolve("OnlyHere.class")));
        }
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(LoadsClass.class);
        job.addFileToClassPath(new org.apache.hadoop.fs.Path(jar.toUri()));
        assertTrue(job.waitForCompletion(false));
        assertEquals("OnlyHere\t1\n", Files.readString(folder.resolve("out/part-r-00000")));
    }

    static class LoadsClass extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            try {
                Class<?> found = context.getConfiguration().getClassByName("OnlyHere");
                assertEquals(
                        found, Thread.currentThread().getContextClassLoader().loadClass("OnlyHere"));
                context.write(new Text(found.getName()), new IntWritable(1));
            } catch (ClassNotFoundException e) {
                throw new IOException(e);
            }
        }
    }

    @Test
    void unpacksCachedArchives() throws Exception {
        Path archive = folder.resolve("archive.zip");
        try (var out = new java.util.zip.ZipOutputStream(Files.newOutputStream(archive))) {
            out.putNextEntry(new java.util.zip.ZipEntry("inside.txt"));
            out.write("from the archive".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(ReadsArchive.class);
        job.addCacheArchive(java.net.URI.create(archive.toUri() + "#archive-of-engine-test"));
        assertTrue(job.waitForCompletion(false));
        assertEquals("from the archive\t1\n", Files.readString(folder.resolve("out/part-r-00000")));
        assertFalse(Files.exists(Path.of("archive-of-engine-test")));
    }

    static class ReadsArchive extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            String text = Files.readString(Path.of("archive-of-engine-test", "inside.txt"));
            context.write(new Text(text), new IntWritable(1));
        }
    }

    @Test
    void runsNoMoreMapsAtOnceThanTheJobAllows() throws Exception {
        conf.setInt("mapreduce.job.running.map.limit", 1);
        AT_ONCE.set(0);
        Job job = Jobs.wordCount(conf, Trees.documentation().resolve("*.md"), folder.resolve("out"));
        job.setMapperClass(RunsAlone.class);
        assertTrue(job.waitForCompletion(false), () -> "two maps ran at once");
    }

    private static final AtomicInteger AT_ONCE = new AtomicInteger();

    static class RunsAlone extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            assertEquals(1, AT_ONCE.incrementAndGet());
        }

        @Override
        protected void cleanup(Context context) {
            AT_ONCE.decrementAndGet();
        }
    }

    @Test
    void tellsAServerThatTheJobHasEnded() throws Exception {
        BlockingQueue<String> calls = new ArrayBlockingQueue<>(10);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
            calls.add(exchange.getRequestURI().getQuery());
        });
        server.start();
        try {
            Files.writeString(folder.resolve("in.txt"), "x\n");
            Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
            job.getConfiguration()
                    .set(
                            "mapreduce.job.end-notification.url",
                            "http://127.0.0.1:" + server.getAddress().getPort() + "/?$jobId=$jobStatus");
            assertTrue(job.waitForCompletion(false));
            assertEquals(job.getJobID() + "=SUCCEEDED", calls.poll(20, TimeUnit.SECONDS));
        } finally {
            server.stop(0);
        }
    }
}
