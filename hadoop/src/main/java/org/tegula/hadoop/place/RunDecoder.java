package org.tegula.hadoop.place;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.live.LiveWriter;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.memory.NoRoomException;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunWriter;
import org.tegula.hadoop.run.SpillFiles;

/**
 * Makes runs of the stream that a {@link RunEncoder} has written: in memory, or in files if there is no room. An object is made
 * once, and all partitions of this place share it.
 */
final class RunDecoder {
    private final Counted counted;
    private final DataInputStream in;
    private final int partitions;
    private final LiveValues live;
    private final MemoryBudget memory;
    private final SpillFiles disk;
    private final Deserializer<Object> keys;
    private final Deserializer<Object> values;
    private final DataInputBuffer object = new DataInputBuffer();
    private final byte[] number = new byte[LiveWriter.OBJECT_BYTES];
    /** The numbers here of the stream's pairs. */
    private int[] numbers = new int[16];

    private int pairs;
    private byte[] key = new byte[64];
    private byte[] value = new byte[1024];
    final long[] records;
    final long[] shared;
    final long[] bytes;

    /**
     * @param partitions how many of them are reduced at this place
     * @param live the job's objects here; null if records have no objects
     */
    RunDecoder(InputStream stream, int partitions, LiveValues live, MemoryBudget memory, SpillFiles disk, JobConf conf)
            throws IOException {
        this.counted = new Counted(stream);
        this.in = new DataInputStream(counted);
        this.partitions = partitions;
        this.live = live;
        this.memory = memory;
        this.disk = disk;
        this.keys = live == null ? null : deserializer(conf, conf.getMapOutputKeyClass());
        this.values = live == null ? null : deserializer(conf, conf.getMapOutputValueClass());
        this.records = new long[partitions];
        this.shared = new long[partitions];
        this.bytes = new long[partitions];
    }

    @SuppressWarnings("unchecked") // types of keys and values are known to the program alone
    private Deserializer<Object> deserializer(JobConf conf, Class<?> type) throws IOException {
        Deserializer<Object> made = new SerializationFactory(conf).getDeserializer((Class<Object>) type);
        made.open(object);
        return made;
    }

    /**
     * Reads all of the stream.
     *
     * @throws NoRoomException if there is no room for an object; the stream with bytes in their place fits
     */
    List<Run> read(int runs) throws IOException {
        List<Run> read = new ArrayList<>();
        try {
            for (int i = 0; i < runs; i++) {
                long size = WritableUtils.readVLong(in);
                try (RunWriter writer = RunWriter.create(size, partitions, memory, disk)) {
                    for (int partition = 0; partition < partitions; partition++) {
                        long before = counted.bytes;
                        read(partition, writer);
                        bytes[partition] += counted.bytes - before;
                    }
                    read.add(writer.finish());
                }
            }
            return read;
        } catch (IOException | RuntimeException e) {
            read.forEach(Run::release);
            throw e;
        }
    }

    private void read(int partition, RunWriter writer) throws IOException {
        for (byte kind = in.readByte(); kind != RunEncoder.END_OF_PARTITION; kind = in.readByte()) {
            int keyLength = WritableUtils.readVInt(in);
            key = read(key, keyLength);
            records[partition]++;
            if (kind == RunEncoder.RECORD) {
                writer.append(partition, key, keyLength, in, WritableUtils.readVInt(in));
                continue;
            }
            int here =
                    switch (kind) {
                        case RunEncoder.NEW_VALUE -> newValue(keyLength);
                        case RunEncoder.SAME_VALUE -> sameValue(keyLength);
                        case RunEncoder.SAME_PAIR -> numbers[WritableUtils.readVInt(in)];
                        default -> throw new IOException("The pairs of a map were damaged on their way: kind " + kind);
                    };
            if (kind != RunEncoder.NEW_VALUE) {
                shared[partition]++;
            }
            int length = live.get(here).bytes();
            LiveWriter.writeObject(here, length, number);
            writer.append(partition, key, 0, keyLength, number, 0, number.length);
        }
    }

    private int newValue(int keyLength) throws IOException {
        int length = WritableUtils.readVInt(in);
        value = read(value, length);
        Object madeKey = make(keys, key, keyLength);
        return note(live.add(new LiveValues.Pair(madeKey, make(values, value, length), length, null), keyLength));
    }

    private int sameValue(int keyLength) throws IOException {
        int before = numbers[WritableUtils.readVInt(in)];
        return note(live.addAgain(make(keys, key, keyLength), keyLength, before));
    }

    private Object make(Deserializer<Object> from, byte[] source, int length) throws IOException {
        object.reset(source, length);
        return from.deserialize(null);
    }

    private int note(int here) throws NoRoomException {
        if (here < 0) {
            throw new NoRoomException(LiveWriter.OBJECT_BYTES);
        }
        if (pairs == numbers.length) {
            numbers = Arrays.copyOf(numbers, 2 * pairs);
        }
        numbers[pairs++] = here;
        return here;
    }

    /** Reads some bytes into an array, or into a longer one. */
    private byte[] read(byte[] into, int length) throws IOException {
        byte[] target = into.length < length ? new byte[Math.max(length, Math.min(2 * into.length, 1 << 24))] : into;
        in.readFully(target, 0, length);
        return target;
    }

    /** Counts the bytes that were read. */
    private static final class Counted extends FilterInputStream {
        private long bytes;

        Counted(InputStream in) {
            super(in);
        }

        @Override
        public int read() throws IOException {
            int next = in.read();
            if (next < 0) {
                throw new EOFException("The pairs of a map ended on their way");
            }
            bytes++;
            return next;
        }

        @Override
        public int read(byte[] target, int start, int length) throws IOException {
            int count = in.read(target, start, length);
            bytes += Math.max(count, 0);
            return count;
        }
    }
}
