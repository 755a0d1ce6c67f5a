package org.tegula.hadoop.live;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.io.serializer.Serializer;
import org.tegula.hadoop.memory.Arena;

/**
 * Writes what one map task emits, for a job that may pass objects: a value is a byte that says which, and either its own
 * bytes or the number of the object. One that is emitted again, to another partition perhaps, keeps its number: mostly so
 * if other values were emitted in between, and always if none was.
 */
public final class LiveWriter {
    static final byte BYTES = 0;
    static final byte OBJECT = 1;

    /** Smaller values are better off as bytes. */
    private static final int LARGE_BYTES = 256;

    private static final int RECENT = 256;

    private final LiveValues values;
    private final KnownSize known;
    /** Values that were passed on as objects, each at a place that its identity gives it, until another takes it. */
    private final Passed[] recent = new Passed[RECENT];

    private boolean promised;
    private long hidden;

    private record Passed(Object value, int number, int length) {}

    /**
     * A writer for one task.
     *
     * @param values of its job
     * @param known what the task was handed
     */
    public LiveWriter(LiveValues values, KnownSize known) {
        this.values = values;
        this.known = known;
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
        Passed passed = promised ? pass(value) : null;
        if (passed != null) {
            writeNumber(passed, arena, start);
            return;
        }
        arena.write(BYTES);
        plain.serialize(value);
        passed = promised ? pass(value, arena.length() - start - 1) : null;
        if (passed == null) {
            hidden--;
            return;
        }
        arena.truncate(start);
        writeNumber(passed, arena, start);
    }

    /** Passes a value on that was passed on before, or of which the size is known; null for others. */
    private Passed pass(Object value) {
        Passed before = recent[System.identityHashCode(value) % RECENT];
        return before != null && before.value == value ? before : pass(value, known.of(value));
    }

    /** Passes a value on as an object, if it is large enough and there is room; else null. */
    private Passed pass(Object value, int length) {
        int number = length >= LARGE_BYTES ? values.add(value, length) : -1;
        if (number < 0) {
            return null;
        }
        Passed passed = new Passed(value, number, length);
        recent[System.identityHashCode(value) % RECENT] = passed;
        return passed;
    }

    private void writeNumber(Passed passed, Arena arena, int start) throws IOException {
        arena.write(OBJECT);
        arena.writeInt(passed.number);
        hidden += passed.length - (arena.length() - start);
    }
}
