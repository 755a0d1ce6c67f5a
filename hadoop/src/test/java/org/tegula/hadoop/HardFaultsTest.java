package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;
import javax.tools.ToolProvider;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults that reach beyond the program's own pairs: the heap, the JVM, its threads and its statics, the committer. */
@Timeout(120)
class HardFaultsTest extends FaultTests {
    @BeforeEach
    void tryTwice() {
        conf.setInt("mapreduce.map.maxattempts", 2);
        conf.setInt("mapreduce.reduce.maxattempts", 2);
    }

    private void failsNaming(Job job, String words) throws Exception {
        assertFalse(job.waitForCompletion(false));
        assertEquals(JobStatus.State.FAILED, job.getJobState());
        assertTrue(
                job.getStatus().getFailureInfo().contains(words),
                job.getStatus().getFailureInfo());
        assertEquals(Set.of(), Trees.read(out).keySet());
    }

    @Test
    void aMapperThatWantsMoreThanTheHeapFailsItsJob() throws Exception {
        Job job = job();
        job.setMapperClass(WantsTooMuch.class);
        failsNaming(job, "OutOfMemoryError");
    }

    @Test
    void aReducerThatFillsTheHeapFailsItsJob() throws Exception {
        Job job = job();
        job.setReducerClass(FillsTheHeap.class);
        failsNaming(job, "OutOfMemoryError");
    }

    @Test
    void aMapperThatLoopsInItselfFailsItsJob() throws Exception {
        Job job = job();
        job.setMapperClass(Recurses.class);
        failsNaming(job, "StackOverflowError");
    }

    /** Where the JVM lets nobody end it, as here, that is an exception like every other. */
    @Test
    void aMapperThatMayNotEndTheJvmFailsItsJob() throws Exception {
        try (ExitTrap exits = new ExitTrap()) {
            int code = exits.run(() -> {
                Job job = job();
                job.setMapperClass(Exits.class);
                failsNaming(job, "exit 3");
            });
            assertEquals(3, code);
        }
    }

    /** Where it may, the JVM ends as under the local runner, in whichever way it is told; no output is committed. */
    @ParameterizedTest
    @CsvSource({"local, EXIT", "tegula, EXIT", "tegula, RUNTIME_EXIT", "local, HALT", "tegula, HALT"})
    void aMapperThatEndsTheJvmLeavesNoOutput(String framework, Way way) throws Exception {
        Path log = folder.resolve("log");
        List<String> command = Jvms.command(ExitingProgram.class);
        command.addAll(List.of(framework, folder.toString(), way.name()));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(3, process.exitValue(), Files.readString(log));
        assertTrue(Trees.read(out).keySet().stream().allMatch(name -> name.startsWith("_temporary/")), () -> "" + out);
        assertFalse(Files.exists(out.resolve("_SUCCESS")));
    }

    /** The program of the JVM that is ended. */
    public static final class ExitingProgram {
        private ExitingProgram() {}

        /** Runs a job under a framework, in a folder, that ends the JVM in some way. */
        public static void main(String[] arguments) throws Exception {
            Path folder = Path.of(arguments[1]);
            Configuration conf = Engines.valueOf(arguments[0].toUpperCase()).conf(folder.resolve("tmp-of-program"));
            Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
            job.setMapperClass(EndsTheJvm.class);
            job.getConfiguration().set("test.way", arguments[2]);
            System.exit(job.waitForCompletion(false) ? 0 : 1);
        }
    }

    @Test
    void aThreadThatAMapperLeavesBehindHarmsNobody() throws Exception {
        Job job = job();
        job.setMapperClass(LeavesThread.class);
        assertTrue(job.waitForCompletion(false));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", Files.readString(out.resolve("part-r-00000")));
    }

    /** Each job has its own loader over its jar, whether that goes before the JVM's or after it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void staticStateOfAJobsJarIsTheJobsOwn(boolean isolated) throws Exception {
        conf.setBoolean("mapreduce.job.classloader", isolated);
        Path source = Files.writeString(
                folder.resolve("Counting.java"),
                """
                import org.apache.hadoop.io.*;
                public class Counting extends org.apache.hadoop.mapreduce.Mapper<LongWritable, Text, Text, IntWritable> {
                    private static int lines;
                    @Override
                    protected void map(LongWritable at, Text line, Context context)
                            throws java.io.IOException, InterruptedException {
                        context.write(new Text("line"), new IntWritable(++lines));
                    }
                }
                """);
        int compiled = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-cp", System.getProperty("java.class.path"), source.toString());
        assertEquals(0, compiled);
        Path jar = folder.resolve("counting.jar");
        try (JarOutputStream all = new JarOutputStream(Files.newOutputStream(jar))) {
            all.putNextEntry(new ZipEntry("Counting.class"));
            all.write(Files.readAllBytes(folder.resolve("Counting.class")));
        }
        for (String name : List.of("first", "second")) {
            Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve(name));
            job.setJar(jar.toString());
            job.getConfiguration().set("mapreduce.job.map.class", "Counting");
            assertTrue(job.waitForCompletion(false));
            assertEquals("line\t3\n", Files.readString(folder.resolve(name + "/part-r-00000")));
        }
    }

    /** When a committer throws. */
    enum Moment {
        SETUP_JOB,
        SETUP_TASK,
        NEEDS_COMMIT,
        ABORT_TASK,
        CLOSE_WRITER
    }

    @ParameterizedTest
    @org.junit.jupiter.params.provider.EnumSource
    void aCommitterThatThrowsFailsItsJob(Moment moment) throws Exception {
        conf.set("test.moment", moment.name());
        Job job = job();
        job.setOutputFormatClass(BadCommits.class);
        if (moment == Moment.ABORT_TASK) {
            job.setReducerClass(Spoiled.class);
        }
        failsNaming(job, "spoiled");
    }

    static class WantsTooMuch extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            long[][] all = new long[Integer.MAX_VALUE - 8][];
            all[0] = new long[Integer.MAX_VALUE - 8];
        }
    }

    static class FillsTheHeap extends Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context) {
            List<byte[]> all = new java.util.ArrayList<>();
            while (true) {
                all.add(new byte[64 << 20]);
            }
        }
    }

    static class Recurses extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            setup(context);
        }
    }

    static class Exits extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            System.exit(3);
        }
    }

    /** How a program ends its JVM. */
    enum Way {
        EXIT {
            @Override
            void end(int status) {
                System.exit(status);
            }
        },
        RUNTIME_EXIT {
            @Override
            void end(int status) {
                Runtime.getRuntime().exit(status);
            }
        },
        HALT {
            @Override
            void end(int status) {
                Runtime.getRuntime().halt(status);
            }
        };

        abstract void end(int status);
    }

    static class EndsTheJvm extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            Way.valueOf(context.getConfiguration().get("test.way")).end(3);
        }
    }

    static class LeavesThread extends Jobs.Words {
        @Override
        protected void setup(Context context) {
            Thread thread = new Thread(() -> {
                try {
                    Thread.sleep(30_000);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
    }

    static class Spoiled extends Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context) {
            throw new IllegalStateException("spoiled");
        }
    }

    static class BadCommits extends TextOutputFormat<Text, IntWritable> {
        private static void come(Moment moment, JobContext context) throws IOException {
            if (context.getConfiguration().get("test.moment").equals(moment.name())) {
                throw new IOException("spoiled");
            }
        }

        @Override
        public RecordWriter<Text, IntWritable> getRecordWriter(TaskAttemptContext context)
                throws IOException, InterruptedException {
            RecordWriter<Text, IntWritable> real = super.getRecordWriter(context);
            return new RecordWriter<>() {
                @Override
                public void write(Text key, IntWritable value) throws IOException, InterruptedException {
                    real.write(key, value);
                }

                @Override
                public void close(TaskAttemptContext task) throws IOException, InterruptedException {
                    real.close(task);
                    come(Moment.CLOSE_WRITER, task);
                }
            };
        }

        @Override
        public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context) throws IOException {
            return new FileOutputCommitter(getOutputPath(context), context) {
                @Override
                public void setupJob(JobContext job) throws IOException {
                    come(Moment.SETUP_JOB, job);
                    super.setupJob(job);
                }

                @Override
                public void setupTask(TaskAttemptContext task) throws IOException {
                    come(Moment.SETUP_TASK, task);
                    super.setupTask(task);
                }

                @Override
                public boolean needsTaskCommit(TaskAttemptContext task) throws IOException {
                    come(Moment.NEEDS_COMMIT, task);
                    return super.needsTaskCommit(task);
                }

                @Override
                public void abortTask(TaskAttemptContext task) throws IOException {
                    come(Moment.ABORT_TASK, task);
                    super.abortTask(task);
                }
            };
        }
    }
}
