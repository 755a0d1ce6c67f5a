package org.tegula.hadoop.combine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.io.serializer.JavaSerialization;
import org.apache.hadoop.io.serializer.WritableSerialization;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.memory.Arena;

/** The fast serialisation writes and reads the same as Hadoop's own types. */
class PlainTypesTest {
    private static final WritableSerialization HADOOPS = new WritableSerialization();

    static Stream<Writable> objects() {
        return Stream.of(
                new Text(""),
                new Text("zo\u00eb"),
                new Text("x".repeat(127)),
                new Text("x".repeat(128)),
                new Text("x".repeat(70_000)),
                new IntWritable(0),
                new IntWritable(-1),
                new IntWritable(Integer.MIN_VALUE),
                new LongWritable(1L << 40 | 7),
                new LongWritable(-2),
                new LongWritable(Long.MIN_VALUE));
    }

    @ParameterizedTest
    @MethodSource("objects")
    <T extends Writable> void writesAndReadsAsTheTypeItself(T object) throws Exception {
        @SuppressWarnings("unchecked")
        Class<T> type = (Class<T>) object.getClass();
        Arena arena = new Arena(1);
        PlainTypes.serializer(type, HADOOPS, arena).serialize(object);
        byte[] written = Arrays.copyOf(arena.bytes(), arena.length());
        DataOutputBuffer expected = new DataOutputBuffer();
        object.write(expected);
        assertArrayEquals(Arrays.copyOf(expected.getData(), expected.getLength()), written);

        BytesIn in = new BytesIn();
        in.reset(arena.bytes(), 0, arena.length());
        assertEquals(object, PlainTypes.deserializer(type, HADOOPS, in).deserialize(null));
        in.reset(arena.bytes(), 0, arena.length() - 1);
        assertThrows(IndexOutOfBoundsException.class, () -> PlainTypes.deserializer(type, HADOOPS, in)
                .deserialize(null));
    }

    @ParameterizedTest
    @ValueSource(
            ints = {0, 127, 128, 255, 256, 65_535, 1 << 24, Integer.MAX_VALUE, -1, -112, -113, -256, -257, 1 << 31})
    void writesIntegersOfAnyLengthAsHadoop(int value) throws Exception {
        Arena arena = new Arena(1);
        arena.putVInt(value);
        DataOutputBuffer expected = new DataOutputBuffer();
        WritableUtils.writeVInt(expected, value);
        assertArrayEquals(
                Arrays.copyOf(expected.getData(), expected.getLength()), Arrays.copyOf(arena.bytes(), arena.length()));
        BytesIn in = new BytesIn();
        in.reset(arena.bytes(), 0, arena.length());
        assertEquals(value, in.takeVInt());
    }

    @Test
    void leavesOtherTypesAndOtherSerializationsAlone() {
        assertNull(PlainTypes.serializer(Named.class, HADOOPS, new Arena(1)));
        assertNull(PlainTypes.serializer(Text.class, new JavaSerialization(), new Arena(1)));
        assertNull(PlainTypes.deserializer(Named.class, HADOOPS, new BytesIn()));
    }

    /** It may write something else. */
    static final class Named extends Text {}
}
