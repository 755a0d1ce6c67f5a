package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.SpillFiles;

/** Streams of pairs that were damaged on their way are refused by name, and leave no memory reserved. */
class RunDecoderTest {
    private static final int SIZE = 50;

    @TempDir
    Path folder;

    private final MemoryBudget memory = new MemoryBudget(1 << 20);

    private List<Run> decode(Body stream, boolean objects) throws IOException {
        JobConf conf = new JobConf(false);
        conf.set("io.serializations", new Configuration().get("io.serializations"));
        conf.set(MRConfig.LOCAL_DIR, folder.toString());
        conf.setMapOutputKeyClass(IntWritable.class);
        conf.setMapOutputValueClass(LongWritable.class);
        LiveValues live = objects ? new LiveValues(new MemoryBudget(1 << 20)) : null;
        ByteArrayInputStream in = new ByteArrayInputStream(MessagesTarget.written(stream));
        return new RunDecoder(in, 1, live, memory, new SpillFiles(conf, "job"), conf).read(1);
    }

    private static Body run(long size, Body records) {
        return out -> {
            WritableUtils.writeVLong(out, size);
            records.write(out);
            out.writeByte(RunEncoder.END_OF_PARTITION);
        };
    }

    private static Body record(int kind, int... lengths) {
        return out -> {
            out.writeByte(kind);
            for (int each : lengths) {
                WritableUtils.writeVInt(out, each);
            }
        };
    }

    static Stream<Arguments> damaged() {
        return Stream.of(
                Arguments.of("a run of -1 bytes", run(-1, out -> {})),
                Arguments.of("a length of -5", run(SIZE, record(RunEncoder.RECORD, -5))),
                Arguments.of("a length of -6", run(SIZE, record(RunEncoder.RECORD, 0, -6))),
                Arguments.of("kind 9", run(SIZE, record(9, 0))),
                Arguments.of("pair 3 of 0", run(SIZE, record(RunEncoder.SAME_PAIR, 0, 3))),
                Arguments.of("pair -4 of 0", run(SIZE, record(RunEncoder.SAME_PAIR, 0, -4))),
                Arguments.of("pair 1048576 of 0", run(SIZE, record(RunEncoder.SAME_VALUE, 0, 1 << 20))),
                Arguments.of("a value that is no bytes", run(SIZE, record(RunEncoder.RECORD, 0, 0))),
                Arguments.of("a value that is no bytes", run(SIZE, record(RunEncoder.RECORD, 0, 1, 1))));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("damaged")
    void isRefused(String how, Body stream) {
        String said =
                assertThrows(IOException.class, () -> decode(stream, true)).getMessage();
        assertEquals("The pairs of a map were damaged on their way: " + how, said);
        assertEquals(0, memory.usedBytes());
    }

    /** Its size was reserved, and no more: what came beyond that was given back twice. */
    @Test
    void recordsBeyondTheSizeOfTheirRunAreRefused() {
        Body record = out -> {
            record(RunEncoder.RECORD, 0, SIZE).write(out);
            out.write(new byte[SIZE]);
        };
        String said = assertThrows(IOException.class, () -> decode(run(SIZE, record), false))
                .getMessage();
        assertEquals("The pairs of a map were damaged on their way: records beyond the size of their run", said);
        said = assertThrows(IOException.class, () -> decode(run(2 * SIZE, record), false))
                .getMessage();
        assertEquals("The pairs of a map were damaged on their way: 48 bytes are missing of a run", said);
        assertEquals(0, memory.usedBytes());
    }

    /** The array for it was made before its bytes had come. */
    @Test
    void aKeyOfTwoGigabytesIsNotMadeBeforeItComes() throws IOException {
        DataOutputBuffer out = new DataOutputBuffer();
        run(1L << 40, record(RunEncoder.RECORD, Integer.MAX_VALUE)).write(out);
        IOException said = assertThrows(
                IOException.class, () -> decode(again -> again.write(out.getData(), 0, out.getLength()), false));
        assertTrue(said instanceof java.io.EOFException, said::toString);
    }
}
