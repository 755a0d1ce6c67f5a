package org.tegula.hadoop.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataOutput;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.MemoryBudget;

/** A value is written as the number of its object, or as its bytes, and comes back either way. */
class LiveValuesTest {
    private static final IntWritable KEY = new IntWritable(5);

    private final JobConf conf = new JobConf();
    private final Arena arena = new Arena(100);
    private final KnownSize known = new KnownSize();

    private void write(LiveWriter writer, IntWritable key, BytesWritable value) throws Exception {
        Serializer<BytesWritable> plain = new SerializationFactory(conf).getSerializer(BytesWritable.class);
        plain.open(arena);
        writer.write(key, Integer.BYTES, value, arena, plain);
    }

    private static LiveWriter promised(LiveWriter writer) {
        writer.promise();
        return writer;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Deserializer reader(LivePair pair, Class type) {
        conf.setMapOutputKeyClass(IntWritable.class);
        conf.setMapOutputValueClass(BytesWritable.class);
        return new SerializationFactory(new LiveConf(conf, pair, known, null)).getDeserializer(type);
    }

    private Object read(LiveValues values, int start) throws Exception {
        return read(new LivePair(values), start);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object read(LivePair pair, int start) throws Exception {
        Deserializer deserializer = reader(pair, LiveConf.Value.class);
        DataInputBuffer in = new DataInputBuffer();
        deserializer.open(in);
        in.reset(arena.bytes(), start, arena.length() - start);
        return deserializer.deserialize(null);
    }

    /** The key that a reduce is given for the record whose value is at a place, and whose key is a five. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object key(LivePair pair, int start) throws Exception {
        DataInputBuffer value = new DataInputBuffer();
        value.reset(arena.bytes(), start, arena.length() - start);
        pair.moveTo(value);
        Deserializer deserializer = reader(pair, LiveConf.Key.class);
        DataInputBuffer in = new DataInputBuffer();
        deserializer.open(in);
        in.reset(new byte[] {0, 0, 0, 5}, 4);
        return deserializer.deserialize(null);
    }

    @Test
    void storesAnObjectOnceHoweverOftenItIsEmitted() throws Exception {
        MemoryBudget memory = new MemoryBudget(1 << 20);
        LiveValues values = new LiveValues(memory);
        LiveWriter writer = promised(new LiveWriter(values, known));
        BytesWritable value = new BytesWritable(new byte[1000]);
        write(writer, KEY, value);
        long once = memory.usedBytes();
        int second = arena.length();
        write(writer, KEY, value);
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
        LiveWriter writer = promised(new LiveWriter(values, known));
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
                write(writer, KEY, each);
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
        LiveWriter writer = promised(new LiveWriter(values, known));
        BytesWritable value = new BytesWritable(new byte[1000]) {
            @Override
            public void write(DataOutput out) {
                throw new AssertionError("its size is known");
            }
        };
        known.set(value, 1004, null);
        write(writer, KEY, value);
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
        write(writer, KEY, small);
        assertNotSame(small, read(values, 0));
        assertEquals(small, read(values, 0));
        writer.promise();
        for (int size : new int[] {100, 1000}) {
            BytesWritable value = new BytesWritable(new byte[size]);
            int start = arena.length();
            write(writer, KEY, value);
            assertNotSame(value, read(values, start));
            assertEquals(value, read(values, start));
        }
        assertEquals(304 + 104 + 1004, arena.length() + writer.takeHiddenBytes());
        int start = arena.length();
        write(writer, KEY, small);
        assertSame(small, read(values, start));
    }

    @Test
    void takesNothingFromAnAttemptThatGoesOnAfterItsJob() throws Exception {
        MemoryBudget memory = new MemoryBudget(1 << 20);
        LiveValues values = new LiveValues(memory);
        values.release();
        assertEquals(-1, values.add(new LiveValues.Pair(KEY, "late", 1000, null), 4));
        assertEquals(-1, values.addAgain(KEY, 4, 0));
        assertEquals(0, memory.usedBytes());
    }

    @Test
    void handsOutTheKeysThatWereEmitted() throws Exception {
        MemoryBudget memory = new MemoryBudget(1 << 20);
        LiveValues values = new LiveValues(memory);
        LiveWriter writer = promised(new LiveWriter(values, known));
        BytesWritable value = new BytesWritable(new byte[1000]);
        IntWritable other = new IntWritable(5);
        write(writer, KEY, value);
        long once = memory.usedBytes();
        int second = arena.length();
        write(writer, other, value);
        assertTrue(memory.usedBytes() < once + 200, "the value does not count again");
        int third = arena.length();
        write(writer, KEY, new BytesWritable(new byte[10]));
        LivePair pair = new LivePair(values);
        assertSame(KEY, key(pair, 0));
        assertSame(value, read(pair, 0));
        assertSame(other, key(pair, second));
        assertSame(value, read(pair, second));
        assertSame(value, read(pair, 0), "a value that is read again");
        assertEquals(KEY, key(pair, third));
        assertNotSame(KEY, key(pair, third), "a small pair is in bytes");
    }

    @Test
    void passesOnWhereAValueCounts() throws Exception {
        MemoryBudget cache = new MemoryBudget(1 << 20);
        SharedRoom room = SharedRoom.reserve(cache, 1004);
        LiveValues values = new LiveValues(new MemoryBudget(1 << 20));
        LiveWriter writer = promised(new LiveWriter(values, known));
        BytesWritable value = new BytesWritable(new byte[1000]);
        known.set(value, 1004, room);
        write(writer, KEY, value);
        known.set("another", 1, null);
        assertSame(value, read(values, 0));
        assertSame(room, known.roomOf(value));
        assertNull(known.roomOf("another"));
    }

    @Test
    @Timeout(30)
    void noRecordWaitsForALock() throws Exception {
        LiveValues values = new LiveValues(new MemoryBudget(1 << 20));
        int first = values.add(new LiveValues.Pair(KEY, KEY, 300, null), 4);
        synchronized (values) {
            FutureTask<Integer> other = new FutureTask<>(() -> {
                values.get(first);
                return values.addAgain(KEY, 4, first);
            });
            new Thread(other).start();
            assertEquals(first + 1, other.get());
        }
    }

    @Test
    void tasksThatAddAtOnceGetNumbersOfTheirOwn() throws Exception {
        MemoryBudget memory = new MemoryBudget(100 << 20);
        LiveValues values = new LiveValues(memory);
        List<Thread> tasks = new ArrayList<>();
        Map<Integer, Object> keys = new ConcurrentHashMap<>();
        for (int task = 0; task < 4; task++) {
            Thread thread = new Thread(() -> {
                for (int i = 0; i < 20_000; i++) {
                    Object key = new Object();
                    keys.put(values.add(new LiveValues.Pair(key, key, 300, null), 4), key);
                }
            });
            tasks.add(thread);
            thread.start();
        }
        for (Thread each : tasks) {
            each.join();
        }
        assertEquals(80_000, keys.size());
        for (Map.Entry<Integer, Object> each : keys.entrySet()) {
            assertSame(each.getValue(), values.get(each.getKey()).key());
        }
        values.release();
        assertEquals(0, memory.usedBytes());
        assertEquals(-1, values.add(new LiveValues.Pair(KEY, KEY, 300, null), 4));
        assertEquals(0, memory.usedBytes());
    }
}
