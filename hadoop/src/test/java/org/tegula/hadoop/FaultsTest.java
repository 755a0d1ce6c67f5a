package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileAlreadyExistsException;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.JobPriority;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.input.InvalidInputException;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.engine.Engine;

/** A fault of a program fails its job, as on Hadoop: named, without output, and without harm to the next job. */
@Timeout(120)
class FaultsTest extends FaultTests {
    private static final AtomicInteger CALLS = new AtomicInteger();
    private static volatile CountDownLatch gate;
    private static volatile boolean looping;
    private static volatile CountDownLatch lateEnd;
    private static final Set<Integer> COMMITS = ConcurrentHashMap.newKeySet();

    @BeforeEach
    void forgetCalls() {
        CALLS.set(0);
    }

    /** Where a program may throw. */
    enum Place {
        MAPPER {
            @Override
            void spoil(Job job) {
                job.setMapperClass(BadMapper.class);
            }
        },
        PARTITIONER {
            @Override
            void spoil(Job job) {
                job.setNumReduceTasks(2);
                job.setPartitionerClass(BadPartitioner.class);
            }
        },
        COMPARATOR {
            @Override
            void spoil(Job job) {
                job.setSortComparatorClass(BadComparator.class);
            }
        },
        COMBINER {
            @Override
            void spoil(Job job) {
                job.setCombinerClass(BadReducer.class);
            }
        },
        REDUCER {
            @Override
            void spoil(Job job) {
                job.setReducerClass(BadReducer.class);
            }
        },
        READER {
            @Override
            void spoil(Job job) {
                job.setInputFormatClass(BadInput.class);
            }
        },
        WRITER {
            @Override
            void spoil(Job job) {
                job.setOutputFormatClass(BadOutput.class);
            }
        },
        TASK_COMMIT {
            @Override
            void spoil(Job job) {
                job.setOutputFormatClass(BadTaskCommit.class);
            }
        };

        abstract void spoil(Job job);
    }

    @ParameterizedTest
    @EnumSource
    void failsTheJobAfterAsManyAttemptsAsItIsAllowed(Place place) throws Exception {
        conf.setInt("mapreduce.map.maxattempts", 2);
        conf.setInt("mapreduce.reduce.maxattempts", 2);
        Job job = job();
        place.spoil(job);
        assertFalse(job.waitForCompletion(false));
        assertEquals(JobStatus.State.FAILED, job.getJobState());
        assertTrue(
                job.getStatus().getFailureInfo().contains("spoiled"),
                job.getStatus().getFailureInfo());
        long failed = job.getCounters().findCounter(JobCounter.NUM_FAILED_MAPS).getValue()
                + job.getCounters().findCounter(JobCounter.NUM_FAILED_REDUCES).getValue();
        assertEquals(2, failed);
        assertEquals(Set.of(), Trees.read(out).keySet());
        TaskCompletionEvent[] events = job.getTaskCompletionEvents(0, 10);
        TaskCompletionEvent last = events[events.length - 1];
        assertEquals(TaskCompletionEvent.Status.TIPFAILED, last.getStatus());
        assertTrue(job.getTaskDiagnostics(last.getTaskAttemptId())[0].contains("spoiled"));
    }

    @Test
    void failsTheJobIfItCannotBeCommitted() throws Exception {
        Job job = job();
        job.setOutputFormatClass(BadJobCommit.class);
        assertFalse(job.waitForCompletion(false));
        assertTrue(job.getStatus().getFailureInfo().contains("spoiled"));
        assertFalse(Files.exists(out.resolve("_SUCCESS")));
    }

    @Test
    void triesATaskAgainAndCountsOnlyTheAttemptThatSucceeded() throws Exception {
        Job job = job();
        job.setMapperClass(FailsOnce.class);
        assertTrue(job.waitForCompletion(false));
        assertEquals(1, job.getCounters().findCounter("test", "maps").getValue());
        assertEquals(
                1, job.getCounters().findCounter(JobCounter.NUM_FAILED_MAPS).getValue());
        assertEquals(
                "attempt",
                job.getTaskReports(TaskType.MAP)[0]
                        .getSuccessfulTaskAttemptId()
                        .toString()
                        .substring(0, 7));
    }

    @Test
    void goesOnWithoutTasksThatMayFail() throws Exception {
        conf.setInt("mapreduce.map.maxattempts", 1);
        conf.setInt("mapreduce.map.failures.maxpercent", 100);
        Job job = job();
        job.setMapperClass(BadMapper.class);
        assertTrue(job.waitForCompletion(false));
        assertEquals("", Files.readString(out.resolve("part-r-00000")));
    }

    @Test
    void refusesMissingInputAndExistingOutput() throws Exception {
        Job missing = Jobs.wordCount(conf, folder.resolve("nowhere"), out);
        assertThrows(InvalidInputException.class, () -> missing.waitForCompletion(false));
        Files.createDirectories(out);
        Job existing = job();
        assertThrows(FileAlreadyExistsException.class, () -> existing.waitForCompletion(false));
    }

    @Test
    void namesAClassThatIsMissing() throws Exception {
        conf.setInt("mapreduce.map.maxattempts", 1);
        Job job = job();
        job.getConfiguration().set("mapreduce.job.map.class", "org.example.Nowhere");
        assertFalse(job.waitForCompletion(false));
        assertTrue(job.getStatus().getFailureInfo().contains("org.example.Nowhere"));
    }

    @Test
    void refusesAKeyOfAnotherType() throws Exception {
        conf.setInt("mapreduce.map.maxattempts", 1);
        Job job = job();
        job.setMapOutputKeyClass(LongWritable.class);
        assertFalse(job.waitForCompletion(false));
        assertTrue(job.getStatus().getFailureInfo().contains("Type mismatch in key from map"));
    }

    @Test
    void killsAJobThatNeverReturns() throws Exception {
        Job job = job();
        job.setMapperClass(Sleeper.class);
        job.submit();
        while (CALLS.get() == 0) {
            Thread.sleep(5);
        }
        job.killJob();
        while (!job.isComplete()) {
            Thread.sleep(5);
        }
        assertEquals(JobStatus.State.KILLED, job.getJobState());
        assertEquals(Set.of(), Trees.read(out).keySet());
    }

    /** Hadoop's client sends numbers, whichever of its calls is used. */
    @Test
    void changesThePriorityOfAJobThatRuns() throws Exception {
        gate = new CountDownLatch(1);
        Job job = job();
        job.setMapperClass(Gated.class);
        job.submit();
        job.setPriority(JobPriority.VERY_HIGH);
        assertEquals(JobPriority.VERY_HIGH, job.getStatus().getPriority());
        job.setPriorityAsInteger(1);
        assertEquals(JobPriority.VERY_LOW, job.getStatus().getPriority());
        job.setPriorityAsInteger(17);
        assertEquals(JobPriority.VERY_HIGH, job.getStatus().getPriority());
        gate.countDown();
        assertTrue(job.waitForCompletion(false));
    }

    @Test
    void killsAnAttemptAndTriesItsTaskAgain() throws Exception {
        Job job = job();
        job.setMapperClass(SleepsOnce.class);
        job.submit();
        while (CALLS.get() == 0) {
            Thread.sleep(5);
        }
        job.killTask(job.getTaskReports(TaskType.MAP)[0]
                .getRunningTaskAttemptIds()
                .iterator()
                .next());
        assertTrue(job.waitForCompletion(false));
        assertEquals(
                1, job.getCounters().findCounter(JobCounter.NUM_KILLED_MAPS).getValue());
    }

    /** Whether or not it gives signs of life, by which it could hear that it was told to stop. */
    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void triesTheTaskOfAnAttemptAgainThatDoesNotEndAsItWasTold(boolean signs, boolean asFailure) throws Exception {
        looping = true;
        conf.setBoolean("test.signs", signs);
        Job job = job();
        job.setMapperClass(LoopsOnce.class);
        try {
            end(job, asFailure);
            succeedsSoon(job);
        } finally {
            looping = false;
        }
        JobCounter ended = asFailure ? JobCounter.NUM_FAILED_MAPS : JobCounter.NUM_KILLED_MAPS;
        assertEquals(1, job.getCounters().findCounter(ended).getValue());
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", Files.readString(out.resolve("part-r-00000")));
    }

    private static void end(Job job, boolean asFailure) throws Exception {
        job.submit();
        while (CALLS.get() == 0) {
            Thread.sleep(5);
        }
        TaskAttemptID first = new TaskAttemptID(new TaskID(job.getJobID(), TaskType.MAP, 0), 0);
        if (asFailure) {
            job.failTask(first);
        } else {
            job.killTask(first);
        }
    }

    private static void succeedsSoon(Job job) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!job.isComplete()) {
            assertTrue(System.nanoTime() < end, "the job waits for the attempt");
            Thread.sleep(5);
        }
        assertTrue(job.isSuccessful());
    }

    @Test
    void anAttemptThatIsNotWaitedForAnyMoreCommitsNothing() throws Exception {
        gate = new CountDownLatch(1);
        lateEnd = new CountDownLatch(1);
        COMMITS.clear();
        Job job = job();
        job.setNumReduceTasks(0);
        job.setOutputFormatClass(LateCommit.class);
        try {
            end(job, false);
            succeedsSoon(job);
        } finally {
            gate.countDown();
        }
        assertTrue(lateEnd.await(30, TimeUnit.SECONDS));
        assertEquals(Set.of(1), COMMITS);
    }

    /** Neither is it abandoned for its silence, nor does its task commit a second time. */
    @Test
    void anAttemptThatCommitsForLongCommitsAlone() throws Exception {
        conf.setInt("mapreduce.task.timeout", 700);
        conf.setInt("mapreduce.task.timeout.check-interval-ms", 50);
        COMMITS.clear();
        Job job = job();
        job.setNumReduceTasks(0);
        job.setOutputFormatClass(LongCommit.class);
        assertTrue(job.waitForCompletion(false));
        assertEquals(Set.of(0), COMMITS);
        assertEquals(
                0, job.getCounters().findCounter(JobCounter.NUM_FAILED_MAPS).getValue());
    }

    /** All slots are taken by tasks that wait, so that the last one waits in the queue. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void endsAnAttemptThatWaitsForASlotAndTriesItsTaskAgain(boolean asFailure) throws Exception {
        int maps = Engine.shared(conf).slots().count() + 2;
        Path in = Files.createDirectories(folder.resolve("many"));
        for (int i = 0; i < maps; i++) {
            Files.writeString(in.resolve("in" + i), "word" + i + "\n");
        }
        gate = new CountDownLatch(1);
        Job job = Jobs.wordCount(conf, in, out);
        job.setMapperClass(Gated.class);
        job.submit();
        while (CALLS.get() < maps - 2) {
            Thread.sleep(5);
        }
        TaskAttemptID waiting = new TaskAttemptID(new TaskID(job.getJobID(), TaskType.MAP, maps - 1), 0);
        if (asFailure) {
            job.failTask(waiting);
        } else {
            job.killTask(waiting);
        }
        gate.countDown();
        assertTrue(job.waitForCompletion(false));
        assertEquals(maps, Files.readAllLines(out.resolve("part-r-00000")).size());
        JobCounter ended = asFailure ? JobCounter.NUM_FAILED_MAPS : JobCounter.NUM_KILLED_MAPS;
        assertEquals(1, job.getCounters().findCounter(ended).getValue());
        assertEquals(
                maps,
                job.getCounters().findCounter(JobCounter.TOTAL_LAUNCHED_MAPS).getValue());
    }

    @Test
    void givesUpAnAttemptThatGivesNoSignOfLife() throws Exception {
        conf.setInt("mapreduce.task.timeout", 1500);
        conf.setInt("mapreduce.map.maxattempts", 1);
        Job job = job();
        job.setMapperClass(Sleeper.class);
        assertFalse(job.waitForCompletion(false));
        assertTrue(job.getStatus().getFailureInfo().contains("failed to report status"));
    }

    static class BadMapper extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) {
            throw new IllegalStateException("spoiled");
        }
    }

    static class FailsOnce extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            context.getCounter("test", "maps").increment(1);
            if (CALLS.getAndIncrement() == 0) {
                throw new IllegalStateException("the first time");
            }
        }
    }

    static class Sleeper extends Jobs.Words {
        @Override
        protected void setup(Context context) throws InterruptedException {
            CALLS.incrementAndGet();
            Thread.sleep(600_000);
        }
    }

    static class Gated extends Jobs.Words {
        @Override
        protected void setup(Context context) throws InterruptedException {
            CALLS.incrementAndGet();
            gate.await();
        }
    }

    static class SleepsOnce extends Jobs.Words {
        @Override
        protected void setup(Context context) throws InterruptedException {
            if (CALLS.getAndIncrement() == 0) {
                Thread.sleep(600_000);
            }
        }
    }

    static class LoopsOnce extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            boolean signs = context.getConfiguration().getBoolean("test.signs", false);
            boolean first = CALLS.getAndIncrement() == 0;
            while (first && looping) {
                if (signs) {
                    context.progress();
                }
            }
        }
    }

    /** The committer of the first attempt does not know for long whether it has something to commit. */
    static class LateCommit extends TextOutputFormat<Text, IntWritable> {
        @Override
        public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context) throws IOException {
            return new FileOutputCommitter(getOutputPath(context), context) {
                @Override
                public boolean needsTaskCommit(TaskAttemptContext task) throws IOException {
                    boolean first = CALLS.getAndIncrement() == 0;
                    while (first && gate.getCount() > 0) {
                        Thread.onSpinWait();
                    }
                    return super.needsTaskCommit(task) || first;
                }

                @Override
                public void commitTask(TaskAttemptContext task) throws IOException {
                    COMMITS.add(task.getTaskAttemptID().getId());
                    super.commitTask(task);
                    countLate(task);
                }

                @Override
                public void abortTask(TaskAttemptContext task) throws IOException {
                    super.abortTask(task);
                    countLate(task);
                }

                private void countLate(TaskAttemptContext task) {
                    if (task.getTaskAttemptID().getId() == 0) {
                        lateEnd.countDown();
                    }
                }
            };
        }
    }

    /** Whose committer gives no sign of life for longer than it may, and does not hear that it is told to stop. */
    static class LongCommit extends TextOutputFormat<Text, IntWritable> {
        @Override
        public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context) throws IOException {
            return new FileOutputCommitter(getOutputPath(context), context) {
                @Override
                public void commitTask(TaskAttemptContext task) throws IOException {
                    COMMITS.add(task.getTaskAttemptID().getId());
                    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1500);
                    while (System.nanoTime() < end) {
                        LockSupport.parkNanos(end - System.nanoTime());
                        Thread.interrupted();
                    }
                    super.commitTask(task);
                }
            };
        }
    }

    static class BadPartitioner extends Partitioner<Text, IntWritable> {
        @Override
        public int getPartition(Text key, IntWritable value, int partitions) {
            throw new IllegalStateException("spoiled");
        }
    }

    static class BadComparator extends Text.Comparator {
        @Override
        public int compare(byte[] b1, int s1, int l1, byte[] b2, int s2, int l2) {
            throw new IllegalStateException("spoiled");
        }
    }

    static class BadReducer extends Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context) throws IOException {
            throw new IOException("spoiled");
        }
    }

    static class BadInput extends TextInputFormat {
        @Override
        public RecordReader<LongWritable, Text> createRecordReader(InputSplit split, TaskAttemptContext context) {
            throw new IllegalStateException("spoiled");
        }
    }

    static class BadOutput extends TextOutputFormat<Text, IntWritable> {
        @Override
        public RecordWriter<Text, IntWritable> getRecordWriter(TaskAttemptContext context) {
            return new RecordWriter<>() {
                @Override
                public void write(Text key, IntWritable value) throws IOException {
                    throw new IOException("spoiled");
                }

                @Override
                public void close(TaskAttemptContext ignored) {}
            };
        }
    }

    static class BadTaskCommit extends TextOutputFormat<Text, IntWritable> {
        @Override
        public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context) throws IOException {
            return new FileOutputCommitter(getOutputPath(context), context) {
                @Override
                public void commitTask(TaskAttemptContext task) throws IOException {
                    throw new IOException("spoiled");
                }
            };
        }
    }

    static class BadJobCommit extends TextOutputFormat<Text, IntWritable> {
        @Override
        public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context) throws IOException {
            return new FileOutputCommitter(getOutputPath(context), context) {
                @Override
                public void commitJob(JobContext job) throws IOException {
                    throw new IOException("spoiled");
                }
            };
        }
    }
}
