package org.tegula.hadoop.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.DataOutput;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.MemoryBudget;

/** A value is written as the number of its object, or as its bytes, and comes back either way. */
class LiveValuesTest {
    private final JobConf conf = new JobConf();
    private final Arena arena = new Arena(100);
    private final KnownSize known = new KnownSize();

    private Serializer<BytesWritable> serializer(LiveWriter writer) throws Exception {
        Serializer<BytesWritable> plain = new SerializationFactory(conf).getSerializer(BytesWritable.class);
        plain.open(arena);
        return writer.serializer(arena, plain);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object read(LiveValues values, int start) throws Exception {
        conf.setMapOutputKeyClass(IntWritable.class);
        conf.setMapOutputValueClass(BytesWritable.class);
        Deserializer deserializer = new SerializationFactory(new LiveConf(conf, values, known))
                .getDeserializer((Class) LiveConf.Value.class);
        DataInputBuffer in = new DataInputBuffer();
        deserializer.open(in);
        in.reset(arena.bytes(), start, arena.length() - start);
        return deserializer.deserialize(null);
    }

    @Test
    void storesAnObjectOnceHoweverOftenItIsEmitted() throws Exception {
        MemoryBudget memory = new MemoryBudget(1 << 20);
        LiveValues values = new LiveValues(memory);
        LiveWriter writer = new LiveWriter(values, known);
        writer.promise();
        Serializer<BytesWritable> serializer = serializer(writer);
        BytesWritable value = new BytesWritable(new byte[1000]);
        serializer.serialize(value);
        long once = memory.usedBytes();
        int second = arena.length();
        serializer.serialize(value);
        assertEquals(once, memory.usedBytes());
        assertEquals(2 * 1004L, arena.length() + writer.takeHiddenBytes());
        assertSame(value, read(values, 0));
        assertSame(value, read(values, second));
        values.release();
        assertEquals(0, memory.usedBytes());
    }

    @Test
    void storesObjectsOnceThatAreEmittedInTurns() throws Exception {
        MemoryBudget memory = new MemoryBudget(1 << 20);
        LiveValues values = new LiveValues(memory);
        LiveWriter writer = new LiveWriter(values, known);
        writer.promise();
        Serializer<BytesWritable> serializer = serializer(writer);
        List<BytesWritable> both =
                List.of(new BytesWritable(new byte[1000]), new BytesWritable(new byte[500]), new BytesWritable());
        while (System.identityHashCode(both.get(0)) % 256 == System.identityHashCode(both.get(1)) % 256) {
            both = List.of(both.get(0), new BytesWritable(new byte[500]), both.get(2));
        }
        List<Integer> starts = new ArrayList<>();
        long once = 0;
        for (int partition = 0; partition < 3; partition++) {
            for (BytesWritable each : both) {
                starts.add(arena.length());
                serializer.serialize(each);
            }
            once = partition == 0 ? memory.usedBytes() : once;
        }
        assertEquals(once, memory.usedBytes());
        for (int i = 0; i < starts.size(); i++) {
            assertEquals(both.get(i % 3), read(values, starts.get(i)));
        }
        assertSame(both.get(1), read(values, starts.get(7)));
        assertEquals(3 * (1004L + 504 + 4), arena.length() + writer.takeHiddenBytes());
    }

    @Test
    void needNotWriteWhatTheTaskWasHanded() throws Exception {
        LiveValues values = new LiveValues(new MemoryBudget(1 << 20));
        LiveWriter writer = new LiveWriter(values, known);
        writer.promise();
        Serializer<BytesWritable> serializer = serializer(writer);
        BytesWritable value = new BytesWritable(new byte[1000]) {
            @Override
            public void write(DataOutput out) {
                throw new AssertionError("its size is known");
            }
        };
        known.set(value, 1004);
        serializer.serialize(value);
        assertEquals(1004L, arena.length() + writer.takeHiddenBytes());
        KnownSize asked = new KnownSize();
        assertSame(value, read(values, 0));
        assertEquals(1004, known.of(value));
        assertEquals(KnownSize.UNKNOWN, known.of(asked));
    }

    @Test
    void writesBytesWithoutAPromiseOrRoomOrSize() throws Exception {
        LiveValues values = new LiveValues(new MemoryBudget(500));
        LiveWriter writer = new LiveWriter(values, known);
        BytesWritable small = new BytesWritable(new byte[300]);
        Serializer<BytesWritable> serializer = serializer(writer);
        serializer.serialize(small);
        assertNotSame(small, read(values, 0));
        assertEquals(small, read(values, 0));
        writer.promise();
        for (int size : new int[] {100, 1000}) {
            BytesWritable value = new BytesWritable(new byte[size]);
            int start = arena.length();
            serializer.serialize(value);
            assertNotSame(value, read(values, start));
            assertEquals(value, read(values, start));
        }
        assertEquals(304 + 104 + 1004, arena.length() + writer.takeHiddenBytes());
        int start = arena.length();
        serializer.serialize(small);
        assertSame(small, read(values, start));
    }

    @Test
    void takesNothingFromAnAttemptThatGoesOnAfterItsJob() {
        MemoryBudget memory = new MemoryBudget(1 << 20);
        LiveValues values = new LiveValues(memory);
        values.release();
        assertEquals(-1, values.add("late", 1000));
        assertEquals(0, memory.usedBytes());
    }
}
