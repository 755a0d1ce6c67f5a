package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.util.VersionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The {@code hadoop} commands of scripts, in processes of their own: Hadoop's output and exit codes, and the engine's jobs. */
@Timeout(180)
class HadoopCommandTest {
    @TempDir
    Path folder;

    private int code;
    private String errors;

    private List<String> run(String... arguments) throws Exception {
        List<String> command = Jvms.command(
                HadoopCommand.class,
                "-Xmx256m",
                "-Dhadoop.tmp.dir=" + folder.resolve("tmp"),
                "-Dlog4j.configuration=" + Path.of("conf", "log4j.properties").toUri());
        command.addAll(List.of(arguments));
        Path out = folder.resolve("out");
        Path err = folder.resolve("err");
        Process process = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        code = process.waitFor();
        errors = Files.readString(err);
        return Files.readAllLines(out);
    }

    @Test
    void version() throws Exception {
        assertEquals("Hadoop " + VersionInfo.getVersion(), run("version").get(0));
        assertEquals(0, code);
    }

    @Test
    void classpath() throws Exception {
        assertEquals(List.of(System.getProperty("java.class.path")), run("classpath"));
        assertEquals(0, code);
    }

    @Test
    void files() throws Exception {
        Path file = Files.writeString(folder.resolve("file.txt"), "text\n");
        assertEquals(List.of("text"), run("fs", "-cat", file.toString()));
        assertEquals(0, code);
        assertTrue(run("dfs", "-ls", folder.toString()).stream().anyMatch(line -> line.endsWith("/file.txt")));
        run("fs", "-test", "-e", folder.resolve("missing").toString());
        assertEquals(1, code);
        run("fs", "-cat", folder.resolve("missing").toString());
        assertEquals(1, code);
        assertTrue(errors.contains("No such file or directory"), errors);
        run("fs", "-nonsense");
        assertEquals(255, code);
    }

    @Test
    void jobs() throws Exception {
        assertEquals("Total jobs:0", run("job", "-list").get(0));
        assertEquals(0, code);
        run("job", "-status", "job_1_0001");
        assertFalse(code == 0, "a job that is not there");
    }

    /** Both are jobs of the engine; tools look for their log lines. */
    @Test
    void archivesAndCopies() throws Exception {
        Path in = Files.createDirectories(folder.resolve("in"));
        Files.writeString(in.resolve("a.txt"), "a\n");
        Files.writeString(in.resolve("b.txt"), "b\n");
        run(
                "archive",
                "-archiveName",
                "all.har",
                "-p",
                folder.toString(),
                "in",
                folder.resolve("archives").toString());
        assertEquals(0, code, errors);
        String har = "har://" + folder.resolve("archives/all.har/in/b.txt");
        assertEquals(List.of("b"), run("fs", "-cat", har), errors);
        run("distcp", in.toUri().toString(), folder.resolve("copy").toUri().toString());
        assertEquals(0, code, errors);
        assertEquals("a\n", read("copy/a.txt"));
        assertTrue(
                errors.matches("(?s).*\\d\\d/\\d\\d/\\d\\d \\d\\d:\\d\\d:\\d\\d INFO mapreduce.Job: Running job: "
                        + "job_\\d+_\\d+\\R.*INFO mapreduce.Job:  map 100% reduce.*Counters: .*"),
                errors);
    }

    private String read(String name) throws IOException {
        return Files.readString(folder.resolve(name));
    }

    @Test
    void namesWhatThereIsWhereACommandIsUnknown() throws Exception {
        run("nonsense");
        assertEquals(2, code);
        assertTrue(errors.contains("there is no command [nonsense]"), errors);
    }
}
