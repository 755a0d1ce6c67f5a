package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.ref.Reference;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Cluster;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileAsTextInputFormat;
import org.apache.hadoop.mapreduce.tools.CLI;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ToolRunner;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.JarOf;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.Trees;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.client.ServerConnection;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.place.Places;

/** A client that knows no more than an address has its jobs run by a server, and sees them as on Hadoop. */
@Timeout(120)
class ServerTest {
    @TempDir
    Path folder;

    private EngineServer server;
    private Configuration conf;

    @BeforeEach
    void serve() throws IOException {
        Configuration site = Engines.TEGULA.conf(folder.resolve("server"));
        site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        server = new EngineServer(site, "127.0.0.1", 0);
        conf = Engines.TEGULA.conf(folder.resolve("client"));
        conf.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        conf.set(Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort());
    }

    @AfterEach
    void close() throws IOException {
        server.close();
        // Hadoop's cache would hand a client's view of the disk, which asks this server, to other tests.
        FileSystem.closeAll();
    }

    /** Tests in other classes share the JVM's cache and count the files that they read. */
    private Path copyOfText() throws IOException {
        return Files.copy(Trees.documentation().resolve("words.md"), folder.resolve("words.md"));
    }

    @Test
    void runsAJobAsTheLocalRunnerDoes() throws Exception {
        Path texts = copyOfText();
        Job right = Jobs.wordCount(Engines.LOCAL.conf(folder.resolve("tmp")), texts, folder.resolve("right"));
        Job served = Jobs.wordCount(conf, texts, folder.resolve("served"));
        served.setNumReduceTasks(1);
        assertTrue(right.waitForCompletion(false));
        assertTrue(served.waitForCompletion(false));
        assertEquals(Trees.read(folder.resolve("right")), Trees.read(folder.resolve("served")));
        Counters expected = right.getCounters();
        for (TaskCounter each : List.of(
                TaskCounter.MAP_INPUT_RECORDS, TaskCounter.MAP_OUTPUT_BYTES, TaskCounter.REDUCE_OUTPUT_RECORDS)) {
            assertEquals(
                    expected.findCounter(each).getValue(),
                    served.getCounters().findCounter(each).getValue(),
                    each.name());
        }
        assertEquals(1, served.getTaskReports(TaskType.MAP).length);
        assertEquals(1f, served.getTaskReports(TaskType.REDUCE)[0].getProgress());
        assertEquals(2, served.getTaskCompletionEvents(0, 10).length);
        assertEquals(1f, served.reduceProgress());
    }

    @Test
    void saysWhyAJobFailed() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(Fails.class);
        job.setMaxMapAttempts(2);
        assertFalse(job.waitForCompletion(false));
        assertTrue(job.getStatus().getFailureInfo().contains("no luck"), job.getStatus()::getFailureInfo);
        var events = job.getTaskCompletionEvents(0, 10);
        assertTrue(job.getTaskDiagnostics(events[0].getTaskAttemptId())[0].contains("no luck"));
        assertFalse(Files.exists(folder.resolve("out/_SUCCESS")));
    }

    static class Fails extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void setup(Context context) throws IOException {
            throw new IOException("no luck");
        }
    }

    @Test
    void answersHadoopsOwnCommands() throws Exception {
        Job job = Jobs.wordCount(conf, copyOfText(), folder.resolve("out"));
        assertTrue(job.waitForCompletion(false));
        String id = job.getJobID().toString();
        assertTrue(cli("-list", "all").contains(id));
        String status = cli("-status", id);
        assertTrue(status.contains("Job state: SUCCEEDED") && status.contains("Map input records"), status);
        assertEquals(
                "1",
                cli("-counter", id, "org.apache.hadoop.mapreduce.JobCounter", "TOTAL_LAUNCHED_MAPS")
                        .strip());
        JobClient old = new JobClient(new JobConf(conf));
        assertEquals("default", old.getQueues()[0].getQueueName());
        assertTrue(old.getJobsFromQueue("default").length > 0);
        assertEquals(
                "word count",
                old.getJob(org.apache.hadoop.mapred.JobID.forName(id)).getJobName());
        assertEquals(server.address().getPort() > 0, old.getClusterStatus().getMaxMapTasks() > 0);
        old.close();
    }

    private String cli(String... arguments) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            ToolRunner.run(new CLI(new JobConf(conf)), arguments);
        } finally {
            System.setOut(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void killsAJobForWhoeverAsks() throws Exception {
        Job job = submitEndless("out");
        cli("-kill", job.getJobID().toString());
        assertFalse(job.waitForCompletion(false));
        assertEquals(JobStatus.State.KILLED, job.getStatus().getState());
        assertFalse(Files.exists(folder.resolve("out/_temporary")));
    }

    private Job submitEndless(String out) throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve(out));
        job.setMapperClass(Endless.class);
        begun = new CountDownLatch(1);
        job.submit();
        begun.await();
        return job;
    }

    private static volatile CountDownLatch begun;

    static class Endless extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws InterruptedException {
            begun.countDown();
            while (true) {
                Thread.sleep(10);
            }
        }
    }

    @Test
    void killsItsJobsWhenItIsClosed() throws Exception {
        Job job = submitEndless("out");
        server.close();
        assertFalse(Files.exists(folder.resolve("out/_temporary")));
        assertFalse(Files.exists(folder.resolve("token")));
        assertThrows(IOException.class, () -> job.getStatus());
    }

    @Test
    void refusesWhoDoesNotKnowItsSecret() throws Exception {
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(server.tokenFile())));
        Path wrong = folder.resolve("wrong");
        ServerSecret.create().write(wrong);
        conf.set(Settings.SERVER_TOKEN_FILE, wrong.toString());
        IOException refused = assertThrows(IOException.class, () -> new Cluster(conf).getAllJobStatuses());
        assertTrue(refused.getMessage().contains("refuses the secret in " + wrong), refused::getMessage);

        conf.set(Settings.SERVER_TOKEN_FILE, folder.resolve("none").toString());
        refused = assertThrows(IOException.class, () -> new Cluster(conf).getAllJobStatuses());
        assertTrue(refused.getMessage().contains("cannot be read"), refused::getMessage);
    }

    @Test
    void saysThatNoServerIsThere() throws Exception {
        server.close();
        ServerSecret.create().write(folder.resolve("token"));
        IOException alone = assertThrows(IOException.class, () -> new Cluster(conf).getAllJobStatuses());
        assertTrue(alone.getMessage().contains("No server answers"), alone::getMessage);
        Files.delete(folder.resolve("token"));
    }

    @Test
    void runsEachUsersJobsAsThatUser() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        for (String name : List.of("alice", "bob", "alice")) {
            Path out = folder.resolve(name + System.nanoTime());
            UserGroupInformation.createRemoteUser(name).doAs((PrivilegedExceptionAction<Void>) () -> {
                Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), out);
                job.setMapperClass(SaysUser.class);
                assertTrue(job.waitForCompletion(false));
                assertEquals(name, job.getStatus().getUsername());
                return null;
            });
            assertEquals(name + "\t1\n", Files.readString(out.resolve("part-r-00000")));
        }
    }

    static class SaysUser extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            String user = UserGroupInformation.getCurrentUser().getShortUserName();
            context.write(new Text(user), new IntWritable(1));
        }
    }

    private Path answering(String name, String answer) throws IOException {
        return JarOf.source(
                Files.createDirectories(folder.resolve(name)),
                "Answer",
                """
                import org.apache.hadoop.io.*;
                import org.apache.hadoop.mapreduce.Mapper;
                public class Answer extends Mapper<LongWritable, Text, Text, IntWritable> {
                    private static int calls;
                    static {
                        System.getProperties().put("%s", new java.lang.ref.WeakReference<>(Answer.class));
                    }
                    @Override
                    protected void map(LongWritable key, Text value, Context context)
                            throws java.io.IOException, InterruptedException {
                        context.write(new Text("%s"), new IntWritable(++calls));
                    }
                }
                """
                        .formatted(answer, answer));
    }

    private String runJar(Path jar, String mapper) throws Exception {
        Path out = folder.resolve("out" + System.nanoTime());
        Job job = jarJob(jar, mapper, out);
        assertTrue(job.waitForCompletion(false), () -> job.toString());
        return Files.readString(out.resolve("part-r-00000"));
    }

    private Job jarJob(Path jar, String mapper, Path out) throws Exception {
        Path in = folder.resolve("in.txt");
        if (!Files.exists(in)) {
            Files.writeString(in, "x\ny\n");
        }
        Job job = Jobs.wordCount(conf, in, out);
        job.setJar(jar.toString());
        job.getConfiguration().set("mapreduce.job.map.class", mapper);
        return job;
    }

    @Test
    void keepsClassesOfOneNameAndTheirStaticStateApart() throws Exception {
        Path one = answering("one", "first");
        Path two = answering("two", "second");
        assertEquals("first\t3\n", runJar(one, "Answer"));
        assertEquals("second\t3\n", runJar(two, "Answer"));
        assertEquals("first\t3\n", runJar(one, "Answer"));
    }

    @Test
    void letsGoOfTheClassesOfJobsThatAreOver() throws Exception {
        runJar(answering("one", "collected"), "Answer");
        Reference<?> type = (Reference<?>) System.getProperties().remove("collected");
        runJar(answering("two", "later"), "Answer");
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (type.get() != null && System.nanoTime() < end) {
            System.gc();
            Thread.sleep(50);
        }
        assertNull(type.get());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void outlivesAProgramThatExits(boolean isolated) throws Exception {
        Path jar = JarOf.source(
                Files.createDirectories(folder.resolve("exits")),
                "Exits",
                """
                import org.apache.hadoop.io.*;
                import org.apache.hadoop.mapreduce.Mapper;
                public class Exits extends Mapper<LongWritable, Text, Text, IntWritable> {
                    @Override
                    protected void map(LongWritable key, Text value, Context context) {
                        System.exit(7);
                    }
                }
                """);
        Path out = folder.resolve("out");
        Job job = jarJob(jar, "Exits", out);
        job.setMaxMapAttempts(2);
        job.getConfiguration().setBoolean("mapreduce.job.classloader", isolated);
        assertFalse(job.waitForCompletion(false));
        String why = job.getStatus().getFailureInfo();
        assertTrue(why.contains("System.exit(7)"), why);
        assertFalse(Files.exists(out.resolve("_temporary")));
    }

    @Test
    void remembersSoManyJobs() throws Exception {
        server.close();
        Configuration site = Engines.TEGULA.conf(folder.resolve("server"));
        site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        server = new EngineServer(
                new Engine(Places.local(1, 2), 1 << 24, PairCache.shared(site), 2), site, "127.0.0.1", 0);
        conf.set(Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort());
        Files.writeString(folder.resolve("in.txt"), "x\n");
        List<String> ran = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out" + i));
            assertTrue(job.waitForCompletion(false));
            ran.add(job.getJobID().toString());
        }
        Cluster cluster = new Cluster(conf);
        List<String> listed = new ArrayList<>();
        for (JobStatus each : cluster.getAllJobStatuses()) {
            listed.add(each.getJobID().toString());
        }
        assertEquals(ran.subList(1, 3), listed);
        assertNull(cluster.getJob(JobID.forName(ran.get(0))));
        cluster.close();
    }

    private Path around(Path inner) throws IOException {
        Path jar = folder.resolve("outer.jar");
        try (var out = new java.util.jar.JarOutputStream(Files.newOutputStream(jar))) {
            out.putNextEntry(new java.util.zip.ZipEntry("lib/inner.jar"));
            out.write(Files.readAllBytes(inner));
        }
        return jar;
    }

    @Test
    void findsLibrariesInsideAJar() throws Exception {
        assertEquals("from a library\t3\n", runJar(around(answering("inner", "from a library")), "Answer"));
    }

    /** Whether code is the same is asked of all that a job can load; this jar has no folder of classes. */
    @Test
    void keepsWhatALibraryInsideAJarHasDecoded() throws Exception {
        Path inner = decoding("inner", "toUpperCase");
        Path jar = around(inner);
        assertEquals(0, decode(jar, inner, "X\t1\nY\t1\n"));
        assertEquals(1, decode(jar, inner, "X\t1\nY\t1\n"));
    }

    private Path decoding(String name, String call) throws IOException {
        return JarOf.source(
                Files.createDirectories(folder.resolve(name)),
                "Lines",
                """
                import org.apache.hadoop.io.*;
                import org.apache.hadoop.mapreduce.*;
                import org.apache.hadoop.mapreduce.lib.input.*;
                public class Lines extends TextInputFormat {
                    @Override
                    public RecordReader<LongWritable, Text> createRecordReader(InputSplit split, TaskAttemptContext task) {
                        return new LineRecordReader() {
                            @Override
                            public Text getCurrentValue() {
                                return new Text(super.getCurrentValue().toString().%s());
                            }
                        };
                    }
                }
                """
                        .formatted(call));
    }

    private long decode(Path jar, Path code, String expected) throws Exception {
        Path out = folder.resolve("out" + System.nanoTime());
        Job job = jarJob(jar, Jobs.Words.class.getName(), out);
        job.getConfiguration().set("mapreduce.job.inputformat.class", "Lines");
        job.getConfiguration().set(Settings.CACHE_FORMATS, "Lines");
        // The client cuts the input, so it has the class, too.
        try (var loader =
                new java.net.URLClassLoader(new java.net.URL[] {code.toUri().toURL()})) {
            job.getConfiguration().setClassLoader(loader);
            assertTrue(job.waitForCompletion(false));
        }
        assertEquals(expected, Files.readString(out.resolve("part-r-00000")));
        return job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue();
    }

    @Test
    void takesWhatOtherCodeHasDecodedForItself() throws Exception {
        Path upper = decoding("upper", "toUpperCase");
        Path lower = decoding("lower", "toLowerCase");
        assertEquals(0, decode(upper, upper, "X\t1\nY\t1\n"));
        assertEquals(0, decode(lower, lower, "x\t1\ny\t1\n"));
    }

    /** A value that says a word, and a mapper that counts what values say. */
    private Path saying(String word) throws IOException {
        return JarOf.source(
                Files.createDirectories(folder.resolve(word)),
                "Said",
                """
                import org.apache.hadoop.io.*;
                import org.apache.hadoop.mapreduce.Mapper;
                public class Said implements Writable {
                    @Override
                    public void write(java.io.DataOutput out) {}
                    @Override
                    public void readFields(java.io.DataInput in) {}
                    @Override
                    public String toString() {
                        return "%s";
                    }
                    public static class Values extends Mapper<Text, Text, Text, IntWritable> {
                        @Override
                        protected void map(Text key, Text value, Context context)
                                throws java.io.IOException, InterruptedException {
                            context.write(value, new IntWritable(1));
                        }
                    }
                }
                """
                        .formatted(word));
    }

    @Test
    void textOfAJobsOwnValuesIsThatOfItsOwnCode() throws Exception {
        Path file = folder.resolve("in.seq");
        for (String word : List.of("first", "second")) {
            Path jar = saying(word);
            try (var loader =
                    new java.net.URLClassLoader(new java.net.URL[] {jar.toUri().toURL()})) {
                if (!Files.exists(file)) {
                    writeOne(file, (Writable)
                            loader.loadClass("Said").getConstructor().newInstance());
                }
            }
            Path out = folder.resolve("out of " + word);
            Job job = Jobs.wordCount(conf, file, out);
            job.setJar(jar.toString());
            job.setInputFormatClass(SequenceFileAsTextInputFormat.class);
            job.getConfiguration().set("mapreduce.job.map.class", "Said$Values");
            assertTrue(job.waitForCompletion(false), () -> job.toString());
            assertEquals(word + "\t1\n", Files.readString(out.resolve("part-r-00000")));
        }
    }

    private void writeOne(Path file, Writable value) throws IOException {
        try (SequenceFile.Writer writer = SequenceFile.createWriter(
                conf,
                SequenceFile.Writer.file(new org.apache.hadoop.fs.Path(file.toUri())),
                SequenceFile.Writer.keyClass(Text.class),
                SequenceFile.Writer.valueClass(value.getClass()))) {
            writer.append(new Text("key"), value);
        }
    }

    @Test
    void sharesLinksOfOneNameOneJobAfterTheOther() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        List<Job> jobs = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Path cached = Files.createDirectories(folder.resolve("cached" + i)).resolve("linked.txt");
            Files.writeString(cached, "of job " + i);
            Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out" + i));
            job.setMapperClass(ReadsLink.class);
            job.addCacheFile(URI.create(cached.toUri() + "#linked-by-server-test"));
            job.setWorkingDirectory(new org.apache.hadoop.fs.Path(folder.toUri()));
            job.submit();
            jobs.add(job);
        }
        for (int i = 0; i < 3; i++) {
            assertTrue(jobs.get(i).waitForCompletion(false));
            assertEquals("of job " + i + "\t1\n", Files.readString(folder.resolve("out" + i + "/part-r-00000")));
        }
        assertFalse(Files.exists(Path.of("linked-by-server-test")));
    }

    static class ReadsLink extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            Thread.sleep(100);
            var path = new org.apache.hadoop.fs.Path("linked-by-server-test");
            try (var in = path.getFileSystem(context.getConfiguration()).open(path)) {
                String linked = Files.readString(Path.of("linked-by-server-test"));
                assertEquals(linked, new String(in.readAllBytes(), StandardCharsets.UTF_8));
                context.write(new Text(linked), new IntWritable(1));
            }
        }
    }

    @Test
    void showsAndDropsWhatItKeeps() throws Exception {
        Path in = Files.writeString(folder.resolve("in.txt"), "x y\n");
        assertTrue(Jobs.wordCount(conf, in, folder.resolve("out")).waitForCompletion(false));
        ServerProtocol calls = ServerConnection.open(conf, conf.get(Settings.SERVER_ADDRESS));
        String name = "file:" + in;
        KeptFile kept = find(calls, name);
        assertEquals(1, kept.pairs());
        assertTrue(kept.bytes() > 0);
        assertEquals(UserGroupInformation.getCurrentUser().getShortUserName(), kept.user());
        calls.drop(in.toString());
        assertNull(find(calls, name));
        ServerConnection.close(calls);
    }

    @Test
    void answersNonsenseWithAnError() throws Exception {
        ServerProtocol calls = ServerConnection.open(conf, conf.get(Settings.SERVER_ADDRESS));
        JobID never = new JobID("never", 1);
        assertThrows(FileNotFoundException.class, () -> calls.submitJob(never, "/none/such", new Credentials()));
        IOException unknown = assertThrows(IOException.class, () -> calls.getJobCounters(never));
        assertEquals("There is no job " + never + ", or it ended long ago", unknown.getMessage());
        assertThrows(IOException.class, () -> calls.setJobPriority(never, "no priority"));
        assertNull(calls.getJobStatus(never));
        assertNull(calls.getQueue("none"));
        ServerConnection.close(calls);
        runsAJobAsTheLocalRunnerDoes();
    }

    private static KeptFile find(ServerProtocol calls, String name) throws IOException {
        for (KeptFile each : calls.kept()) {
            if (each.path().equals(name)) {
                return each;
            }
        }
        return null;
    }

    @Test
    void readsRelativeNamesWhereTheClientIs() throws Exception {
        Files.writeString(folder.resolve("in.txt"), "x\n");
        Files.writeString(folder.resolve("beside.txt"), "y\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(ReadsBeside.class);
        job.setWorkingDirectory(new org.apache.hadoop.fs.Path(folder.toUri()));
        assertTrue(job.waitForCompletion(false));
        assertArrayEquals(
                "y\t1\n".getBytes(StandardCharsets.UTF_8), Files.readAllBytes(folder.resolve("out/part-r-00000")));
    }

    static class ReadsBeside extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException, InterruptedException {
            org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("beside.txt");
            try (var in = path.getFileSystem(context.getConfiguration()).open(path)) {
                String line = new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
                context.write(new Text(line), new IntWritable(1));
            }
        }
    }
}
