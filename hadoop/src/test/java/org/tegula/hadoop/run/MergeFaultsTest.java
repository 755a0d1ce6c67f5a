package org.tegula.hadoop.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.mapreduce.MRConfig;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.memory.MemoryBudget;

/** A merge that fails while it begins leaves no file behind, whether on disk or open. */
class MergeFaultsTest {
    private static final int RUNS = 2 * Merge.FAN_IN;
    private static final Path OPEN_FILES = Path.of("/proc/self/fd");

    @TempDir
    Path folder;

    private SpillFiles disk;

    @BeforeEach
    void configure() {
        Configuration conf = new Configuration(false);
        conf.set(MRConfig.LOCAL_DIR, folder.toString());
        disk = new SpillFiles(conf, "job");
    }

    private Run onDisk(int number) throws IOException {
        try (RunWriter writer = RunWriter.create(1, 1, new MemoryBudget(0), disk)) {
            byte[] key = {0, 0, 0, (byte) number};
            writer.append(0, key, 0, key.length, key, 0, key.length);
            return writer.finish();
        }
    }

    private static RawComparator<?> failingAt(int last) {
        return new IntWritable.Comparator() {
            private int compared;

            @Override
            public int compare(byte[] b1, int s1, int l1, byte[] b2, int s2, int l2) {
                if (++compared == last) {
                    throw new IllegalStateException("spoiled");
                }
                return super.compare(b1, s1, l1, b2, s2, l2);
            }
        };
    }

    /** With more comparisons than the merge takes, too, so that each of them has failed. */
    @Test
    void leavesNothingWhereverTheComparatorFails() throws Exception {
        List<Run> runs = new ArrayList<>();
        for (int i = 0; i < RUNS; i++) {
            runs.add(onDisk(i));
        }
        int last = 1;
        while (fails(runs, last)) {
            assertEquals(RUNS, files(folder), "at comparison " + last);
            assertEquals(0, openFiles(), "at comparison " + last);
            last += 7;
        }
        assertTrue(last > RUNS, () -> "the merge of some runs to one can fail, too");
    }

    private boolean fails(List<Run> runs, int last) throws IOException {
        try (Merge merge = Merge.open(runs, 0, failingAt(last), disk, () -> {})) {
            assertTrue(merge.next());
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    @Test
    void closesTheOtherRunsIfOneIsMissing() throws Exception {
        List<Run> runs = List.of(onDisk(1), onDisk(2), onDisk(3));
        runs.get(2).release();
        assertThrows(IOException.class, () -> Merge.open(runs, 0, failingAt(0), disk, () -> {}));
        assertEquals(0, openFiles());
    }

    private static long files(Path folder) throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(Files::isRegularFile).count();
        }
    }

    /** Of this test, where the system tells. */
    private long openFiles() throws IOException {
        if (!Files.exists(OPEN_FILES)) {
            return 0;
        }
        Path real = folder.toRealPath();
        try (Stream<Path> all = Files.list(OPEN_FILES)) {
            return all.filter(each -> isIn(real, each)).count();
        }
    }

    private static boolean isIn(Path folder, Path open) {
        try {
            return Files.readSymbolicLink(open).startsWith(folder);
        } catch (IOException e) { // closed meanwhile
            return false;
        }
    }
}
