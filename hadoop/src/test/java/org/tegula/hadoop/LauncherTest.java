package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.examples.WordCount;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.job.Job;

/** A program's jar runs on this engine without a word in its arguments. */
class LauncherTest {
    @TempDir
    Path folder;

    @Test
    void runsTheProgramOfAJar() throws Exception {
        Path jar = Path.of(WordCount.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        Files.writeString(folder.resolve("in.txt"), "b a b\n");
        List<Job> before = Engine.shared(Engines.TEGULA.conf(folder)).jobs();
        try (ExitTrap exits = new ExitTrap()) {
            int code = exits.run(() -> {
                try {
                    Launcher.main(new String[] {
                        jar.toString(),
                        "wordcount",
                        "-Dhadoop.tmp.dir=" + folder.resolve("tmp"),
                        folder.resolve("in.txt").toString(),
                        folder.resolve("out").toString()
                    });
                } catch (Exception | Error e) {
                    throw e;
                } catch (Throwable e) {
                    throw new AssertionError(e);
                }
            });
            assertEquals(0, code);
        }
        assertEquals("a\t1\nb\t2\n", Files.readString(folder.resolve("out/part-r-00000")));
        List<Job> jobs =
                new ArrayList<>(Engine.shared(Engines.TEGULA.conf(folder)).jobs());
        jobs.removeAll(before);
        assertEquals(1, jobs.size());
    }
}
