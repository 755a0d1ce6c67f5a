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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.bench.LargeValues;
import org.tegula.hadoop.bench.RandomShuffle;

/** A heap that is far smaller than the shuffle: the job ends as it should, and leaves nothing on the disk. */
@Timeout(240)
class SmallHeapTest {
    /** An attempt that runs out of memory is not to be hidden by another that happens to have more. */
    private static final List<String> ONE_ATTEMPT =
            List.of("-D", "mapreduce.map.maxattempts=1", "-D", "mapreduce.reduce.maxattempts=1");

    @TempDir
    Path folder;

    @Test
    void finishesAShuffleOfFiveTimesTheHeap() throws Exception {
        String printed = run(RandomShuffle.class, "-Xmx64m", List.of(), "6", "300");
        assertTrue(printed.contains("{\"records\": 3124998, \"spilled\": "), printed);
    }

    /** Each reduce merges the runs of all maps: to hold a value of each run at once would take 1.2 GB. */
    @ParameterizedTest
    @ValueSource(strings = {"10", "300"})
    void eightReducesAtOnceMergeValuesThatAreMoreThanTheHeap(String maps) throws Exception {
        List<String> eight = List.of("-D", "tegula.workers=8");
        String printed = run(LargeValues.class, "-Xmx1g", eight, maps, "300", Integer.toString(4 << 20), "8");
        assertTrue(printed.contains("{\"records\": 300}"), printed);
    }

    /** The values are a little more than half of the heap; Hadoop's local runner finishes such a job. */
    @ParameterizedTest
    @ValueSource(strings = {"1", "4"})
    void aFewValuesOfASeventhOfTheHeapGoThrough(String maps) throws Exception {
        List<String> two = List.of("-D", "tegula.workers=2");
        String printed = run(LargeValues.class, "-Xmx800m", two, maps, "4", Integer.toString(120_000_000), "1");
        assertTrue(printed.contains("{\"records\": 4}"), printed);
    }

    private String run(Class<?> program, String heap, List<String> options, String... arguments) throws Exception {
        List<String> command = Jvms.command(program, heap);
        command.addAll(Engines.TEGULA.options(folder.resolve("tmp")));
        command.addAll(ONE_ATTEMPT);
        command.addAll(options);
        command.add(folder.resolve("work").toString());
        command.addAll(List.of(arguments));
        Path printed = folder.resolve("printed");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        assertEquals(0, process.waitFor(), () -> read(printed));
        try (Stream<Path> left = Files.walk(folder.resolve("tmp"))) {
            assertEquals(List.of(), left.filter(Files::isRegularFile).toList());
        }
        return read(printed);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
