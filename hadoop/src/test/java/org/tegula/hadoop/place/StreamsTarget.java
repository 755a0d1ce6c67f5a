package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.tegula.hadoop.Trees;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.live.LiveWriter;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.memory.NoRoomException;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunCursor;
import org.tegula.hadoop.run.RunWriter;
import org.tegula.hadoop.run.SpillFiles;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/**
 * The pairs of a map on their way to another place, beside a naive reader of the stream: with objects or without, in memory or in
 * files. What was read gives the same pairs when it is sent on. No memory and no file is left, whether the stream was whole or not.
 */
public final class StreamsTarget implements Target {
    private static final String SERIALIZATIONS = "io.serializations";
    private static final long ROOM_BYTES = 1 << 20;

    private final Path folder = Input.folder("streams");
    private final JobConf conf = new JobConf(false);

    /** Of jobs with numbers for keys and values. */
    public StreamsTarget() {
        conf.set(SERIALIZATIONS, new Configuration().get(SERIALIZATIONS));
        conf.set(MRConfig.LOCAL_DIR, folder.toString());
        conf.setMapOutputKeyClass(IntWritable.class);
        conf.setMapOutputValueClass(LongWritable.class);
    }

    /** A pair as text: an object of the stream, or the bytes of a value. */
    private record Pair(String key, String value) {}

    /** The pairs of each partition of each run. */
    private record Pairs(List<List<Pair>> partitions) {}

    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        int choice = input.choice();
        boolean objects = choice % 2 == 1;
        int partitions = 1 + choice / 4 % 3;
        int runs = 1 + choice / 16 % 2;
        byte[] stream = input.rest();
        Pairs expected = pairs(stream, runs, partitions, objects);

        MemoryBudget memory = new MemoryBudget(choice / 2 % 2 == 1 ? 0 : ROOM_BYTES);
        LiveValues live = objects ? new LiveValues(new MemoryBudget(ROOM_BYTES)) : null;
        SpillFiles disk = new SpillFiles(conf, "job");
        IOException refused = null;
        try {
            List<Run> read = decode(new ByteArrayInputStream(stream), runs, partitions, live, memory, disk);
            assertEquals(expected, pairs(read, partitions, live));
            sendOn(read, partitions, live, expected, disk);
            read.forEach(Run::release);
        } catch (IOException e) {
            refused = e;
        }
        assertEquals(0, memory.usedBytes());
        assertEquals(Set.of(), Trees.read(folder).keySet(), "no file is left");
        disk.delete();
        if (refused != null) {
            if (expected != null && !(refused instanceof NoRoomException)) {
                throw new AssertionError("a whole stream was refused", refused);
            }
            throw refused;
        }
    }

    private List<Run> decode(
            InputStream stream, int runs, int partitions, LiveValues live, MemoryBudget memory, SpillFiles disk)
            throws IOException {
        return new RunDecoder(stream, partitions, live, memory, disk, conf).read(runs);
    }

    /** Gives the pairs to a third place, which takes objects if this one does. */
    private void sendOn(List<Run> runs, int partitions, LiveValues live, Pairs expected, SpillFiles disk)
            throws IOException {
        int[] all = new int[partitions];
        Arrays.setAll(all, each -> each);
        MemoryBudget memory = new MemoryBudget(ROOM_BYTES);
        LiveValues there = live == null ? null : new LiveValues(new MemoryBudget(ROOM_BYTES));
        try (InputStream stream = new EncodedStream(new RunEncoder(runs, all, live, live != null, conf))) {
            List<Run> again = decode(stream, runs.size(), partitions, there, memory, disk);
            assertEquals(expected, pairs(again, partitions, there));
            assertEquals(-1, stream.read());
            again.forEach(Run::release);
        } catch (IOException e) {
            throw new AssertionError("pairs that were read cannot be sent on", e);
        }
        assertEquals(0, memory.usedBytes());
    }

    private static Pairs pairs(List<Run> runs, int partitions, LiveValues live) throws IOException {
        List<List<Pair>> all = new ArrayList<>();
        for (Run run : runs) {
            for (int partition = 0; partition < partitions; partition++) {
                List<Pair> pairs = new ArrayList<>();
                try (RunCursor at = run.open(partition)) {
                    while (at.next()) {
                        at.load();
                        pairs.add(new Pair(hex(at.bytes(), at.keyStart(), at.keyLength()), value(at, live)));
                    }
                }
                assertEquals(run.records(partition), pairs.size());
                all.add(pairs);
            }
        }
        return new Pairs(all);
    }

    private static String value(RunCursor at, LiveValues live) throws IOException {
        if (live == null || at.bytes()[at.valueStart()] == LiveWriter.BYTES) {
            return hex(at.bytes(), at.valueStart(), at.valueLength());
        }
        LiveValues.Pair pair = live.get(LiveWriter.number(at.bytes(), at.valueStart()));
        return pair.key() + " " + pair.value();
    }

    private static String hex(byte[] bytes, int start, int length) {
        return HexFormat.of().formatHex(bytes, start, start + length);
    }

    /** The pairs of a stream; null if it is damaged. */
    private static Pairs pairs(byte[] stream, int runs, int partitions, boolean objects) {
        List<List<Pair>> all = new ArrayList<>();
        List<long[]> objectsSeen = new ArrayList<>();
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(stream));
        try {
            for (int run = 0; run < runs; run++) {
                long left = WritableUtils.readVLong(in);
                if (left < 0) {
                    return null;
                }
                for (int partition = 0; partition < partitions; partition++) {
                    List<Pair> pairs = new ArrayList<>();
                    for (byte kind = in.readByte(); kind != RunEncoder.END_OF_PARTITION; kind = in.readByte()) {
                        left -= add(pairs, kind, in, objects ? objectsSeen : null);
                    }
                    all.add(pairs);
                }
                if (left != 0 && !objects) {
                    return null;
                }
            }
            return new Pairs(all);
        } catch (IOException | RuntimeException e) {
            return null;
        }
    }

    /** Adds the next pair; returns the size that it has in its run. */
    private static long add(List<Pair> pairs, byte kind, DataInputStream in, List<long[]> objects) throws IOException {
        byte[] key = bytes(in);
        String keyText = hex(key, 0, key.length);
        if (kind == RunEncoder.RECORD) {
            byte[] value = bytes(in);
            if (objects != null && value[0] != LiveWriter.BYTES) {
                throw new IOException("no bytes");
            }
            pairs.add(new Pair(keyText, hex(value, 0, value.length)));
            return RunWriter.recordBytes(key.length, value.length);
        }
        long[] object =
                switch (kind) {
                    case RunEncoder.NEW_VALUE -> new long[] {number(key, Integer.BYTES), number(bytes(in), Long.BYTES)};
                    case RunEncoder.SAME_VALUE -> {
                        long value = objects.get(WritableUtils.readVInt(in))[1];
                        yield new long[] {number(key, Integer.BYTES), value};
                    }
                    case RunEncoder.SAME_PAIR -> objects.get(WritableUtils.readVInt(in));
                    default -> throw new IOException("kind " + kind);
                };
        if (kind != RunEncoder.SAME_PAIR) {
            objects.add(object);
        }
        pairs.add(new Pair(keyText, object[0] + " " + object[1]));
        return RunWriter.recordBytes(key.length, LiveWriter.OBJECT_BYTES);
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        int length = WritableUtils.readVInt(in);
        if (length < 0 || length > in.available()) {
            throw new IOException("a length of " + length);
        }
        return in.readNBytes(length);
    }

    private static long number(byte[] bytes, int length) {
        long number = 0;
        for (int i = 0; i < length; i++) {
            number = number << 8 | Byte.toUnsignedInt(bytes[i]);
        }
        return length == Integer.BYTES ? (int) number : number;
    }
}
