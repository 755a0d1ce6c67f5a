package org.tegula.hadoop.place;

import java.io.IOException;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.live.LiveWriter;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunCursor;
import org.tegula.hadoop.run.RunWriter;

/**
 * The pairs of one map's runs that go to one place, as a stream of bytes. Each run begins with its size there. An object that
 * goes to several partitions of the place is in the stream once, where it comes first; later pairs have its number. {@link
 * RunDecoder} reads it.
 */
final class RunEncoder {
    static final byte END_OF_PARTITION = 0;
    /** A record as it is in the run. */
    static final byte RECORD = 1;
    /** A pair of objects whose value is new to the place. */
    static final byte NEW_VALUE = 2;
    /** A pair of objects whose value was in the stream; the number of the pair with it follows. */
    static final byte SAME_VALUE = 3;
    /** A pair of objects that was in the stream; its number follows. */
    static final byte SAME_PAIR = 4;

    private static final int PIECE_BYTES = 1 << 16;

    private final List<Run> runs;
    private final int[] partitions;
    private final LiveValues live;
    private final boolean objects;
    private final Serializer<Object> values;
    private final DataOutputBuffer value = new DataOutputBuffer();
    private final Map<Integer, Integer> pairs = new HashMap<>();
    private final IdentityHashMap<Object, Integer> known = new IdentityHashMap<>();
    private int run;
    private int partition;
    private RunCursor cursor;
    /** How much of the present record's value is still to be appended. */
    private int valueLeft;

    /**
     * @param partitions that are reduced at the place, in their order
     * @param live the job's objects here; null if records have no objects
     * @param objects whether the place takes objects; else it gets their bytes with each record
     */
    RunEncoder(List<Run> runs, int[] partitions, LiveValues live, boolean objects, JobConf conf) throws IOException {
        this.runs = runs;
        this.partitions = partitions;
        this.live = live;
        this.objects = objects;
        this.values = live == null ? null : serializer(conf);
        if (values != null) {
            values.open(value);
        }
    }

    @SuppressWarnings("unchecked") // types of values are known to the program alone
    private static Serializer<Object> serializer(JobConf conf) {
        return new SerializationFactory(conf).getSerializer((Class<Object>) conf.getMapOutputValueClass());
    }

    /** Appends the next part of the stream; false at its end. */
    boolean next(DataOutputBuffer out) throws IOException {
        if (valueLeft > 0) {
            writeValue(out);
            return true;
        }
        if (run == runs.size()) {
            return false;
        }
        if (cursor == null) {
            if (partition == 0) {
                WritableUtils.writeVLong(out, runBytes(runs.get(run)));
            }
            cursor = runs.get(run).open(partitions[partition]);
        }
        if (cursor.next()) {
            cursor.load();
            encode(out);
        } else {
            endPartition(out);
        }
        return true;
    }

    private void endPartition(DataOutputBuffer out) throws IOException {
        cursor.close();
        cursor = null;
        out.writeByte(END_OF_PARTITION);
        if (++partition == partitions.length) {
            partition = 0;
            run++;
        }
    }

    /** The size of a run at the other place. */
    private long runBytes(Run from) throws IOException {
        long bytes = 0;
        for (int each : partitions) {
            bytes += live == null || objects ? from.bytes(each) : plainBytes(from, each);
        }
        return bytes;
    }

    private static long plainBytes(Run from, int each) throws IOException {
        long bytes = 0;
        try (RunCursor at = from.open(each)) {
            while (at.next()) {
                at.load();
                int length = 1 + LiveWriter.wholeLength(at.bytes(), at.valueStart(), at.valueLength());
                bytes += RunWriter.recordBytes(at.keyLength(), length);
            }
        }
        return bytes;
    }

    private void encode(DataOutputBuffer out) throws IOException {
        byte[] bytes = cursor.bytes();
        if (live == null || bytes[cursor.valueStart()] != LiveWriter.OBJECT) {
            out.writeByte(RECORD);
            writeKey(out);
            WritableUtils.writeVInt(out, cursor.valueLength());
            valueLeft = cursor.valueLength();
            writeValue(out);
            return;
        }
        int number = LiveWriter.number(bytes, cursor.valueStart());
        LiveValues.Pair pair = live.get(number);
        if (!objects) {
            writePlain(pair, out);
            return;
        }
        Integer same = pairs.get(number);
        if (same != null) {
            out.writeByte(SAME_PAIR);
            writeKey(out);
            WritableUtils.writeVInt(out, same);
            return;
        }
        Integer before = known.putIfAbsent(pair.value(), pairs.size());
        pairs.put(number, pairs.size());
        out.writeByte(before == null ? NEW_VALUE : SAME_VALUE);
        writeKey(out);
        if (before == null) {
            serialize(pair);
            WritableUtils.writeVInt(out, value.getLength());
            out.write(value.getData(), 0, value.getLength());
        } else {
            WritableUtils.writeVInt(out, before);
        }
    }

    /** Appends the value of the present record, or a piece of it: a large one is not in memory twice. */
    private void writeValue(DataOutputBuffer out) throws IOException {
        int length = Math.min(valueLeft, PIECE_BYTES);
        out.write(cursor.bytes(), cursor.valueStart() + cursor.valueLength() - valueLeft, length);
        valueLeft -= length;
    }

    private void writeKey(DataOutputBuffer out) throws IOException {
        WritableUtils.writeVInt(out, cursor.keyLength());
        out.write(cursor.bytes(), cursor.keyStart(), cursor.keyLength());
    }

    private void writePlain(LiveValues.Pair pair, DataOutputBuffer out) throws IOException {
        serialize(pair);
        out.writeByte(RECORD);
        writeKey(out);
        WritableUtils.writeVInt(out, 1 + value.getLength());
        out.writeByte(LiveWriter.BYTES);
        out.write(value.getData(), 0, value.getLength());
    }

    private void serialize(LiveValues.Pair pair) throws IOException {
        value.reset();
        values.serialize(pair.value());
    }

    /** Gives up the stream. */
    void close() throws IOException {
        if (cursor != null) {
            cursor.close();
        }
    }
}
