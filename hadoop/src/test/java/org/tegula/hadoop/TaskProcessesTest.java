package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The processes of a task, such as the command of a streaming job, end with it, also if they do not read what they are sent. */
@Timeout(120)
@EnabledOnOs(OS.LINUX)
class TaskProcessesTest {
    private static final String MARK = "TASK_PROCESSES_TEST";

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"kill,''", "timeout,''", "exit,''", "kill,jvm:1", "timeout,jvm:1", "exit,jvm:1"})
    void endWithTheirTask(String how, String places) throws Exception {
        Files.writeString(folder.resolve("in"), "x\n");
        String log =
                "-Dlog4j.configuration=" + Path.of("conf", "log4j.properties").toUri();
        List<String> command = Jvms.command(Program.class, "-Xmx256m", log);
        command.addAll(List.of(folder.toString(), how, places));
        Process program = new ProcessBuilder(command)
                .redirectError(folder.resolve("errors").toFile())
                .start();
        try (BufferedReader said = program.inputReader()) {
            assertEquals("begun", said.readLine());
            if (how.equals("exit")) {
                assertTrue(program.waitFor(60, TimeUnit.SECONDS));
            } else {
                assertEquals("ended", said.readLine());
            }
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            while (!left().isEmpty() && System.nanoTime() < end) {
                Thread.sleep(50);
            }
            assertEquals(List.of(), left(), () -> errors());
        } finally {
            program.destroyForcibly();
            left().forEach(ProcessHandle::destroyForcibly);
        }
    }

    private String errors() {
        try {
            return Files.readString(folder.resolve("errors"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    private List<ProcessHandle> left() {
        return ProcessHandle.allProcesses().filter(this::isOfTask).toList();
    }

    private boolean isOfTask(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc/" + process.pid() + "/environ"), StandardCharsets.ISO_8859_1)
                    .contains(MARK + "=" + folder);
        } catch (IOException e) {
            return false; // it has ended, or is another user's
        }
    }

    /** Runs a job whose only task hangs, and ends it in one of several ways. */
    static final class Program {
        public static void main(String[] arguments) throws Exception {
            Path folder = Path.of(arguments[0]);
            Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
            conf.set(MARK, folder.toString());
            conf.set(Settings.PLACES, arguments[2]);
            conf.setInt("mapreduce.map.maxattempts", 1);
            conf.setInt("mapreduce.task.timeout", arguments[1].equals("timeout") ? 2000 : 0);
            Job job = Jobs.wordCount(conf, folder.resolve("in"), folder.resolve("out"));
            job.setMapperClass(Hangs.class);
            job.submit();
            while (!Files.exists(folder.resolve("hangs"))) {
                Thread.sleep(20);
            }
            System.out.println("begun");
            if (arguments[1].equals("exit")) {
                System.exit(0);
            }
            if (arguments[1].equals("kill")) {
                job.killJob();
            }
            job.waitForCompletion(false);
            System.out.println("ended");
            System.in.read();
        }
    }

    /** Sends a command what it does not read, as Hadoop Streaming does, with the settings of the task in its environment. */
    static final class Hangs extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable key, Text value, Context context) throws IOException {
            Configuration conf = context.getConfiguration();
            ProcessBuilder builder = new ProcessBuilder("sh", "-c", "sleep 1000 & sleep 1000");
            builder.environment().put(MARK, conf.get(MARK));
            builder.environment().put("mapreduce_task_attempt_id", conf.get("mapreduce.task.attempt.id"));
            Process process = builder.start();
            Files.createFile(Path.of(conf.get(MARK), "hangs"));
            try (OutputStream out = process.getOutputStream()) {
                while (true) {
                    out.write(new byte[1 << 16]);
                }
            }
        }
    }
}
