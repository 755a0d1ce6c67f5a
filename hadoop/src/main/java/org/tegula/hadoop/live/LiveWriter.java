package org.tegula.hadoop.live;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.io.serializer.Serializer;
import org.tegula.hadoop.memory.Arena;

/**
 * Writes what one map task emits, for a job that may pass objects: a value is a byte that says which, and either its own
 * bytes or the number of the object. One that is emitted again at once, to another partition perhaps, keeps its number.
 */
public final class LiveWriter {
    static final byte BYTES = 0;
    static final byte OBJECT = 1;

    /** Smaller values are better off as bytes. */
    private static final int LARGE_BYTES = 256;

    private final LiveValues values;
    private boolean promised;
    private Object last;
    private int lastNumber;
    private int lastLength;
    private long hidden;

    /**
     * A writer for one task.
     *
     * @param values of its job
     */
    public LiveWriter(LiveValues values) {
        this.values = values;
    }

    /** Says that the mapper does not change what it emits. */
    public void promise() {
        promised = true;
    }

    /**
     * The bytes by which what was emitted is larger than what was written.
     *
     * @return the bytes since this was last asked
     */
    public long takeHiddenBytes() {
        long bytes = hidden;
        hidden = 0;
        return bytes;
    }

    /**
     * A serialiser of values.
     *
     * @param arena where they go
     * @param plain writes all of a value there
     * @param <V> the type of values
     * @return a serialiser that is open
     */
    public <V> Serializer<V> serializer(Arena arena, Serializer<V> plain) {
        return new Serializer<>() {
            @Override
            public void open(OutputStream out) {}

            @Override
            public void serialize(V value) throws IOException {
                write(value, arena, plain);
            }

            @Override
            public void close() {}
        };
    }

    private <V> void write(V value, Arena arena, Serializer<V> plain) throws IOException {
        int start = arena.length();
        if (promised && value == last) {
            writeNumber(arena, start);
            return;
        }
        arena.write(BYTES);
        plain.serialize(value);
        int length = arena.length() - start - 1;
        int number = promised && length >= LARGE_BYTES ? values.add(value, length) : -1;
        if (number < 0) {
            hidden--;
            return;
        }
        last = value;
        lastNumber = number;
        lastLength = length;
        arena.truncate(start);
        writeNumber(arena, start);
    }

    private void writeNumber(Arena arena, int start) throws IOException {
        arena.write(OBJECT);
        arena.writeInt(lastNumber);
        hidden += lastLength - (arena.length() - start);
    }
}
