package org.tegula.hadoop.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.mapreduce.MRConfig;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.memory.MemoryBudget;

/** Records of runs on disk, of all sizes: of large ones, a merge has the keys in memory, and one value. */
class LargeRecordsTest {
    private static final int VALUE_BYTES = 16 << 20;

    @TempDir
    Path folder;

    private SpillFiles disk;

    @BeforeEach
    void configure() {
        Configuration conf = new Configuration(false);
        conf.set(MRConfig.LOCAL_DIR, folder.toString());
        disk = new SpillFiles(conf, "job");
    }

    private Run onDisk(List<byte[][]> pairs) throws IOException {
        try (RunWriter writer = RunWriter.create(1, 1, new MemoryBudget(0), disk)) {
            assertTrue(writer.onDisk());
            for (byte[][] each : pairs) {
                writer.append(0, each[0], 0, each[0].length, each[1], 0, each[1].length);
            }
            return writer.finish();
        }
    }

    private Merge merge(List<Run> runs) throws IOException {
        return Merge.open(runs, 0, new BytesWritable.Comparator(), disk, () -> {});
    }

    /** A key as a BytesWritable writes it. */
    private static byte[] key(int number, int length) {
        byte[] key = new byte[4 + length];
        key[2] = (byte) (length >> 8);
        key[3] = (byte) length;
        key[1] = (byte) (length >> 16);
        Arrays.fill(key, 4, key.length, (byte) number);
        return key;
    }

    private static byte[] rest(DataInputBuffer buffer) {
        return Arrays.copyOfRange(buffer.getData(), buffer.getPosition(), buffer.getLength());
    }

    /** The values of all runs together are as large as the heap. */
    @Test
    void oneValueIsInMemoryAtATime() throws Exception {
        int runs = (int) Math.min(Merge.FAN_IN, Runtime.getRuntime().maxMemory() / VALUE_BYTES + 1);
        Run run = onDisk(List.of(new byte[][] {key(1, 3), new byte[VALUE_BYTES]}, new byte[][] {key(2, 3), {7}}));
        int records = 0;
        try (Merge merge = merge(Collections.nCopies(runs, run))) {
            while (merge.next()) {
                DataInputBuffer value = merge.getValue();
                boolean isSmall = records >= runs;
                assertEquals(isSmall ? 1 : VALUE_BYTES, value.getLength() - value.getPosition());
                records++;
            }
        }
        assertEquals(2 * runs, records);
        run.release();
    }

    @Test
    void recordsOfAllSizesComeAsTheyWereWritten() throws Exception {
        Random random = new Random(3);
        List<byte[][]> pairs = new ArrayList<>();
        int[] sizes = {0, 1, 100, 60_000, 65_533, 65_536, 70_000, 200_000};
        for (int number = 0; number < 100; number++) {
            byte[] value = new byte[sizes[random.nextInt(sizes.length)]];
            random.nextBytes(value);
            pairs.add(new byte[][] {key(number, sizes[random.nextInt(sizes.length)]), value});
        }
        Run run = onDisk(pairs);
        try (Merge merge = merge(List.of(run))) {
            for (byte[][] each : pairs) {
                assertTrue(merge.next());
                assertArrayEquals(each[0], rest(merge.getKey()));
                assertArrayEquals(each[1], rest(merge.getValue()));
            }
            assertFalse(merge.next());
        }
        try (RunCursor unloaded = run.open(0)) {
            for (byte[][] each : pairs) {
                assertTrue(unloaded.next());
                int start = unloaded.keyStart();
                assertArrayEquals(each[0], Arrays.copyOfRange(unloaded.bytes(), start, start + unloaded.keyLength()));
            }
            assertFalse(unloaded.next());
        }
        run.release();
    }

    @Test
    void damageInALargeValueIsFound() throws Exception {
        Run run = onDisk(List.<byte[][]>of(new byte[][] {key(1, 3), new byte[200_000]}));
        try (var files = Files.walk(folder)) {
            Path file = files.filter(Files::isRegularFile).findFirst().orElseThrow();
            byte[] bytes = Files.readAllBytes(file);
            bytes[150_000]++;
            Files.write(file, bytes);
        }
        try (Merge merge = merge(List.of(run))) {
            assertTrue(merge.next());
            assertTrue(assertThrows(IOException.class, merge::next).getMessage().contains("damaged"));
        }
    }
}
