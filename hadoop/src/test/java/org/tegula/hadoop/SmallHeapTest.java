package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.bench.RandomShuffle;

/** A heap that is far smaller than the shuffle: the job ends as it should, and leaves nothing on the disk. */
@Timeout(120)
class SmallHeapTest {
    @TempDir
    Path folder;

    @Test
    void finishesAShuffleOfFiveTimesTheHeap() throws Exception {
        List<String> command = Jvms.command(RandomShuffle.class, "-Xmx64m");
        command.addAll(Engines.TEGULA.options(folder.resolve("tmp")));
        command.addAll(List.of(folder.resolve("work").toString(), "6", "300"));
        Path printed = folder.resolve("printed");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        assertEquals(0, process.waitFor(), () -> read(printed));
        assertTrue(read(printed).contains("{\"records\": 3124998, \"spilled\": "), () -> read(printed));
        try (Stream<Path> left = Files.walk(folder.resolve("tmp"))) {
            assertEquals(List.of(), left.filter(Files::isRegularFile).toList());
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
