package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobPriority;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.jobhistory.HistoryViewer;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser;
import org.apache.hadoop.mapreduce.lib.output.NullOutputFormat;
import org.apache.hadoop.mapreduce.v2.jobhistory.FileNameIndexUtils;
import org.apache.hadoop.mapreduce.v2.jobhistory.JobIndexInfo;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Hadoop's own tools read the history of a job. */
@Timeout(120)
class JobHistoryTest {
    @TempDir
    Path folder;

    private Configuration conf;
    private Path histories;
    private Job job;

    @BeforeEach
    void make() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        histories = folder.resolve("histories");
        conf.set(Settings.HISTORY_DIR, histories.toString());
        Path in = Files.createDirectory(folder.resolve("in"));
        Files.writeString(in.resolve("a"), "one two two\n");
        Files.writeString(in.resolve("b"), "three three three\n");
        job = Jobs.wordCount(conf, in, folder.resolve("out"));
    }

    private List<Path> left() throws IOException {
        try (Stream<Path> all = Files.list(histories)) {
            return all.filter(each -> !each.getFileName().toString().endsWith(".crc"))
                    .sorted()
                    .toList();
        }
    }

    private Path history() throws IOException {
        List<Path> left = left();
        assertEquals(2, left.size(), left.toString());
        return left.get(0).toString().endsWith(".jhist") ? left.get(0) : left.get(1);
    }

    private JobHistoryParser.JobInfo parse() throws IOException {
        return parse(history());
    }

    private JobHistoryParser.JobInfo parse(Path file) throws IOException {
        JobHistoryParser parser =
                new JobHistoryParser(FileSystem.getLocal(conf), new org.apache.hadoop.fs.Path(file.toUri()));
        JobHistoryParser.JobInfo info = parser.parse();
        assertEquals(null, parser.getParseException());
        return info;
    }

    @Test
    void tellsOfAJobThatSucceeds() throws Exception {
        job.setPriority(JobPriority.HIGH);
        assertTrue(job.waitForCompletion(false));
        JobHistoryParser.JobInfo info = parse();
        assertEquals(job.getJobID().toString(), info.getJobId().toString());
        assertEquals("SUCCEEDED", info.getJobStatus());
        assertEquals("word count", info.getJobname());
        assertEquals(job.getStatus().getUsername(), info.getUsername());
        assertEquals(2, info.getTotalMaps());
        assertEquals(2, info.getSucceededMaps());
        assertEquals(1, info.getSucceededReduces());
        assertEquals(job.getStartTime(), info.getSubmitTime());
        assertTrue(info.getFinishTime() >= info.getLaunchTime());
        assertEquals(job.getCounters(), info.getTotalCounters());
        assertEquals(
                2,
                info.getMapCounters().findCounter(TaskCounter.MAP_INPUT_RECORDS).getValue());
        assertEquals(3, info.getAllTasks().size());
        for (JobHistoryParser.TaskInfo task : info.getAllTasks().values()) {
            assertEquals("SUCCEEDED", task.getTaskStatus());
            JobHistoryParser.TaskAttemptInfo attempt = task.getAllTaskAttempts().get(task.getSuccessfulAttemptId());
            assertEquals("SUCCEEDED", attempt.getTaskStatus());
            assertTrue(attempt.getStartTime() > 0 && attempt.getFinishTime() >= attempt.getStartTime());
            assertEquals(task.getCounters(), attempt.getCounters());
        }
        assertEquals("HIGH", info.getPriority());
        JobIndexInfo index =
                FileNameIndexUtils.getIndexInfo(history().getFileName().toString());
        assertEquals("SUCCEEDED", index.getJobStatus());
        assertEquals(2, index.getNumMaps());
        assertEquals(
                histories.toString(),
                Path.of(info.getJobConfPath().substring("file:".length()))
                        .getParent()
                        .toString());
        Configuration settings = new Configuration(false);
        settings.addResource(new org.apache.hadoop.fs.Path(info.getJobConfPath()));
        assertEquals("word count", settings.get("mapreduce.job.name"));
    }

    /** With all of its tasks and attempts, as {@code mapred job -history all} does. */
    private String view(String format) throws Exception {
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        try (PrintStream out = new PrintStream(shown, true, StandardCharsets.UTF_8)) {
            new HistoryViewer(history().toUri().toString(), conf, true, format).print(out);
        }
        return shown.toString(StandardCharsets.UTF_8);
    }

    @Test
    void isShownByHadoopsViewer() throws Exception {
        assertTrue(job.waitForCompletion(false));
        String shown = view(HistoryViewer.HUMAN_FORMAT);
        assertTrue(shown.contains("Hadoop job: " + job.getJobID()), shown);
        assertTrue(shown.contains("Map input records"), shown);
        assertTrue(shown.contains(new TaskID(job.getJobID(), TaskType.REDUCE, 0).toString()), shown);
        assertTrue(view(HistoryViewer.JSON_FORMAT).contains("\"hadoopJob\":\"" + job.getJobID() + "\""));
    }

    /** Fails at the second file, the first time. */
    public static final class FailsOnce extends Jobs.Words {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            if (line.toString().startsWith("three")
                    && context.getTaskAttemptID().getId() == 0) {
                throw new IOException("meant to fail");
            }
            super.map(place, line, context);
        }
    }

    @Test
    void tellsOfAttemptsThatFailed() throws Exception {
        job.setMapperClass(FailsOnce.class);
        assertTrue(job.waitForCompletion(false));
        JobHistoryParser.JobInfo info = parse();
        int failed = 0;
        for (Map.Entry<TaskID, JobHistoryParser.TaskInfo> each :
                info.getAllTasks().entrySet()) {
            Map<TaskAttemptID, JobHistoryParser.TaskAttemptInfo> attempts =
                    each.getValue().getAllTaskAttempts();
            if (attempts.size() == 2) {
                JobHistoryParser.TaskAttemptInfo first =
                        attempts.get(TaskAttemptID.forName(new TaskAttemptID(each.getKey(), 0).toString()));
                assertEquals("FAILED", first.getTaskStatus());
                assertTrue(first.getError().contains("meant to fail"));
                failed++;
            }
        }
        assertEquals(1, failed);
        assertEquals("SUCCEEDED", info.getJobStatus());
    }

    @Test
    void tellsOfAJobThatFails() throws Exception {
        conf = job.getConfiguration();
        conf.setInt("mapreduce.map.maxattempts", 1);
        job.setMapperClass(FailsOnce.class);
        assertFalse(job.waitForCompletion(false));
        JobHistoryParser.JobInfo info = parse();
        assertEquals(JobStatus.State.FAILED.name(), info.getJobStatus());
        assertTrue(info.getErrorInfo().contains("meant to fail"), info.getErrorInfo());
        assertEquals(1, info.getFailedMaps());
        assertTrue(view(HistoryViewer.HUMAN_FORMAT).contains("FAILED"));
    }

    @Test
    void tellsOfAJobThatFailsBeforeItHasTasks() throws Exception {
        job.setOutputFormatClass(Unready.class);
        assertFalse(job.waitForCompletion(false));
        JobHistoryParser.JobInfo info = parse();
        assertEquals(JobStatus.State.FAILED.name(), info.getJobStatus());
        assertTrue(info.getErrorInfo().contains("no committer"), info.getErrorInfo());
        assertEquals(0, info.getAllTasks().size());
    }

    /** Has no committer once the job is submitted. */
    public static final class Unready extends NullOutputFormat<Text, IntWritable> {
        @Override
        public OutputCommitter getOutputCommitter(TaskAttemptContext context) {
            throw new IllegalStateException("no committer");
        }
    }

    /** Never ends. */
    public static final class Endless extends Jobs.Words {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws InterruptedException {
            begun.countDown();
            new CountDownLatch(1).await();
        }
    }

    private static volatile CountDownLatch begun;

    @Test
    void tellsOfAJobThatWasKilled() throws Exception {
        begun = new CountDownLatch(1);
        job.setMapperClass(Endless.class);
        job.submit();
        begun.await();
        job.killJob();
        assertFalse(job.waitForCompletion(false));
        JobHistoryParser.JobInfo info = parse();
        assertEquals(JobStatus.State.KILLED.name(), info.getJobStatus());
        assertEquals(0, info.getFailedMaps());
        assertTrue(info.getKilledMaps() > 0);
        for (JobHistoryParser.TaskInfo task : info.getAllTasks().values()) {
            assertNull(task.getFailedDueToAttemptId()); // Hadoop's parser calls such a task failed, too
            task.getAllTaskAttempts().values().forEach(each -> assertEquals("KILLED", each.getTaskStatus()));
            assertTrue(task.getFinishTime() >= task.getStartTime());
        }
        assertTrue(view(HistoryViewer.HUMAN_FORMAT).contains("KILLED"));
    }

    @Test
    void hasNothingOfWhatIsToBeRedactedAndIsItsUsersAlone() throws Exception {
        job.getConfiguration().set("mapreduce.job.redacted-properties", "my.password");
        job.getConfiguration().set("my.password", "swordfish");
        assertTrue(job.waitForCompletion(false));
        for (Path each : left()) {
            assertFalse(Files.readString(each).contains("swordfish"), each.toString());
        }
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(histories)));
    }

    @Test
    void isOneForEachOfManyJobsAtOnce() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(6);
        List<Future<Job>> jobs = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            Path out = folder.resolve("out" + i);
            jobs.add(threads.submit(() -> {
                Job each = Jobs.wordCount(conf, folder.resolve("in"), out);
                assertTrue(each.waitForCompletion(false));
                return each;
            }));
        }
        for (Future<Job> each : jobs) {
            Path file = Path.of(new org.apache.hadoop.fs.Path(each.get().getHistoryUrl())
                    .toUri()
                    .getPath());
            JobHistoryParser.JobInfo info = parse(file);
            assertEquals(each.get().getJobID().toString(), info.getJobId().toString());
            assertEquals(each.get().getCounters(), info.getTotalCounters());
        }
        threads.shutdown();
        assertEquals(24, left().size());
    }

    @Test
    void isNotThereUnlessItIsAskedFor() throws Exception {
        job.getConfiguration().unset(Settings.HISTORY_DIR);
        assertTrue(job.waitForCompletion(false));
        assertFalse(Files.exists(histories));
        assertEquals("", job.getHistoryUrl());
    }

    private void endsWithoutHistory(boolean asItShould) throws Exception {
        assertEquals(asItShould, job.waitForCompletion(false));
        assertEquals("", job.getHistoryUrl());
        assertEquals(asItShould, Files.exists(folder.resolve("out/_SUCCESS")));
    }

    @Test
    void doesNotHarmAJobWhereAFileIsInItsPlace() throws Exception {
        Files.writeString(histories, "a file");
        endsWithoutHistory(true);
        assertEquals("a file", Files.readString(histories));
    }

    @Test
    void doesNotHarmAJobThatFailsWhereItCannotBeWritten() throws Exception {
        Files.writeString(histories, "a file");
        job.getConfiguration().setInt("mapreduce.map.maxattempts", 1);
        job.setMapperClass(FailsOnce.class);
        endsWithoutHistory(false);
        assertTrue(job.getStatus().getFailureInfo().contains("meant to fail"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"nobody:///knows", "broken:///tmp", "/proc/tegula", "  :  "})
    void doesNotHarmAJobWhereTheFolderIsOfNoUse(String name) throws Exception {
        job.getConfiguration().set(Settings.HISTORY_DIR, name);
        job.getConfiguration().setClass("fs.broken.impl", Broken.class, FileSystem.class);
        endsWithoutHistory(true);
    }

    /** As a disk that fails: Hadoop tells it by an error, not by an exception. */
    public static final class Broken extends RawLocalFileSystem {
        @Override
        public URI getUri() {
            return URI.create("broken:///");
        }

        @Override
        public FSDataOutputStream create(org.apache.hadoop.fs.Path file, boolean overwrite) throws IOException {
            throw new AssertionError("no space left");
        }
    }

    @Test
    void leavesNothingOfAHistoryThatIsNotWhole() throws Exception {
        job.getConfiguration().set(Settings.HISTORY_DIR, "half://" + histories);
        job.getConfiguration().setClass("fs.half.impl", Half.class, FileSystem.class);
        endsWithoutHistory(true);
        assertEquals(List.of(), left());
    }

    /** As a disk that is full when the second file is written. */
    public static final class Half extends RawLocalFileSystem {
        /** Counted as the local disk, because Hadoop's local runner counts the bytes that all file systems of the JVM have written. */
        @Override
        public void initialize(URI name, Configuration conf) throws IOException {
            super.initialize(URI.create("file:///"), conf);
        }

        @Override
        public URI getUri() {
            return URI.create("half:///");
        }

        @Override
        public boolean rename(org.apache.hadoop.fs.Path from, org.apache.hadoop.fs.Path to) throws IOException {
            if (to.getName().endsWith(".jhist")) {
                throw new AssertionError("no space left");
            }
            return super.rename(from, to);
        }
    }
}
