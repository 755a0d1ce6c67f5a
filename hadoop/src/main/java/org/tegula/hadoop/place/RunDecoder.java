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
    private static final int PIECE_BYTES = 1 << 16;
    private static final int LARGEST_ARRAY = Integer.MAX_VALUE - 8;

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
    /** The size of the records that are still to come of the present run. */
    private long left;

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
                left = WritableUtils.readVLong(in);
                if (left < 0) {
                    throw damaged("a run of " + left + " bytes");
                }
                try (RunWriter writer = RunWriter.create(left, partitions, memory, disk)) {
                    for (int partition = 0; partition < partitions; partition++) {
                        long before = counted.bytes;
                        read(partition, writer);
                        bytes[partition] += counted.bytes - before;
                    }
                    if (left > 0 && live == null) {
                        throw damaged(left + " bytes are missing of a run");
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
            int keyLength = length();
            key = read(key, keyLength);
            records[partition]++;
            if (kind == RunEncoder.RECORD) {
                int valueLength = length();
                take(keyLength, valueLength);
                if (live != null && (valueLength == 0 || counted.peek() != LiveWriter.BYTES)) {
                    throw damaged("a value that is no bytes");
                }
                writer.append(partition, key, keyLength, in, valueLength);
                continue;
            }
            if (live == null) {
                throw damaged("kind " + kind);
            }
            take(keyLength, number.length);
            int here =
                    switch (kind) {
                        case RunEncoder.NEW_VALUE -> newValue(keyLength);
                        case RunEncoder.SAME_VALUE -> sameValue(keyLength);
                        case RunEncoder.SAME_PAIR -> before();
                        default -> throw damaged("kind " + kind);
                    };
            if (kind != RunEncoder.NEW_VALUE) {
                shared[partition]++;
            }
            int length = live.get(here).bytes();
            LiveWriter.writeObject(here, length, number);
            writer.append(partition, key, 0, keyLength, number, 0, number.length);
        }
    }

    private static IOException damaged(String how) {
        return new IOException("The pairs of a map were damaged on their way: " + how);
    }

    private int length() throws IOException {
        int length = WritableUtils.readVInt(in);
        if (length < 0) {
            throw damaged("a length of " + length);
        }
        return length;
    }

    /** Takes a record out of what is to come of its run. */
    private void take(int keyLength, int valueLength) throws IOException {
        left -= RunWriter.recordBytes(keyLength, valueLength);
        if (left < 0 && live == null) { // an object may write itself in more bytes than it did before
            throw damaged("records beyond the size of their run");
        }
    }

    /** The number here of a pair that was in the stream. */
    private int before() throws IOException {
        int before = WritableUtils.readVInt(in);
        if (before < 0 || before >= pairs) {
            throw damaged("pair " + before + " of " + pairs);
        }
        return numbers[before];
    }

    private int newValue(int keyLength) throws IOException {
        int length = length();
        value = read(value, length);
        Object madeKey = make(keys, key, keyLength);
        return note(live.add(new LiveValues.Pair(madeKey, make(values, value, length), length, null), keyLength));
    }

    private int sameValue(int keyLength) throws IOException {
        int before = before();
        return note(live.addAgain(make(keys, key, keyLength), keyLength, before));
    }

    private Object make(Deserializer<Object> from, byte[] source, int length) throws IOException {
        object.reset(source, length);
        try {
            return from.deserialize(null);
        } catch (RuntimeException e) { // of the program's class
            throw new IOException("A key or value of a map cannot be read from its bytes", e);
        }
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

    /** Reads some bytes into an array, or into a longer one, which is made as they come. */
    private byte[] read(byte[] into, int length) throws IOException {
        byte[] target = into;
        int done = 0;
        while (done < length) {
            if (done == target.length) {
                target = Arrays.copyOf(target, (int) Math.min(LARGEST_ARRAY, Math.max(PIECE_BYTES, 2L * done)));
            }
            int count = Math.min(length, target.length) - done;
            in.readFully(target, done, count);
            done += count;
        }
        return target;
    }

    /** Counts the bytes that were read, and looks at the next one. */
    private static final class Counted extends FilterInputStream {
        private static final int NONE = -1;

        private long bytes;
        private int peeked = NONE;

        Counted(InputStream in) {
            super(in);
        }

        int peek() throws IOException {
            if (peeked == NONE) {
                peeked = in.read();
            }
            return peeked;
        }

        @Override
        public int read() throws IOException {
            int next = peek();
            if (next == NONE) {
                throw new EOFException("The pairs of a map ended on their way");
            }
            peeked = NONE;
            bytes++;
            return next;
        }

        @Override
        public int read(byte[] target, int start, int length) throws IOException {
            if (peeked != NONE && length > 0) {
                target[start] = (byte) read();
                return 1;
            }
            int count = in.read(target, start, length);
            bytes += Math.max(count, 0);
            return count;
        }
    }
}
