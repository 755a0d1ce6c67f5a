package org.tegula.hadoop.live;

import java.io.IOException;
import org.apache.hadoop.io.serializer.Serializer;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;

/**
 * Writes the pairs of one map task, for a job that may pass objects. A value is a byte that gives its kind, and either its own
 * bytes or the number of a pair of objects, key and value, with the size of the value. An object that is emitted again, perhaps
 * to another partition, takes no more room: always if no other value was emitted in between, and mostly otherwise.
 */
public final class LiveWriter {
    /** The kind of a value that is in its bytes. */
    public static final byte BYTES = 0;

    /** The kind of a value that is an object; a number and a size follow. */
    public static final byte OBJECT = 1;

    /** The size of a value that is an object. */
    public static final int OBJECT_BYTES = 1 + 2 * Integer.BYTES;

    private static final int RECENT = 256;

    private final LiveValues values;
    private final KnownSize known;
    /** Pairs that were passed on as objects, each at a place that the identity of its value gives it, until another takes it. */
    private final Passed[] recent = new Passed[RECENT];

    private boolean promised;
    private long hidden;

    private record Passed(Object key, Object value, int number, int length) {}

    /**
     * A writer for one task.
     *
     * @param values of its job
     * @param known the sizes of objects that the task was handed
     */
    public LiveWriter(LiveValues values, KnownSize known) {
        this.values = values;
        this.known = known;
    }

    /** Notes that the mapper does not change emitted objects. */
    public void promise() {
        promised = true;
    }

    /**
     * Returns the bytes by which emitted values are larger than the written ones.
     *
     * @return the bytes since this was last asked
     */
    public long takeHiddenBytes() {
        long bytes = hidden;
        hidden = 0;
        return bytes;
    }

    /**
     * The size that a value has on Hadoop.
     *
     * @param bytes where it was written
     * @param start its first byte
     * @param length its written length
     * @return bytes
     */
    public static int wholeLength(byte[] bytes, int start, int length) {
        return bytes[start] == OBJECT ? Ints.get(bytes, start + 1 + Integer.BYTES) : length - 1;
    }

    /**
     * Returns the number of the pair of a value.
     *
     * @param bytes where the value was written, as an object
     * @param start its first byte
     * @return its number among the job's {@link LiveValues}
     */
    public static int number(byte[] bytes, int start) {
        return Ints.get(bytes, start + 1);
    }

    /**
     * Writes a value that is an object.
     *
     * @param number of its pair
     * @param length its size as bytes
     * @param target takes {@link #OBJECT_BYTES}
     */
    public static void writeObject(int number, int length, byte[] target) {
        target[0] = OBJECT;
        Ints.put(target, 1, number);
        Ints.put(target, 1 + Integer.BYTES, length);
    }

    /**
     * Writes the value of a pair.
     *
     * @param key of the pair
     * @param keyBytes how many it has written
     * @param value of the pair
     * @param arena where it goes
     * @param plain writes all of a value there
     * @param <V> the type of values
     * @throws IOException if the value does not write itself
     */
    public <V> void write(Object key, int keyBytes, V value, Arena arena, Serializer<V> plain) throws IOException {
        int start = arena.length();
        Passed passed = promised ? pass(key, keyBytes, value) : null;
        if (passed != null) {
            writeNumber(passed, arena, start);
            return;
        }
        arena.write(BYTES);
        plain.serialize(value);
        passed = promised ? pass(key, keyBytes, value, arena.length() - start - 1) : null;
        if (passed == null) {
            hidden--;
            return;
        }
        arena.truncate(start);
        writeNumber(passed, arena, start);
    }

    /** Passes on a pair whose value was passed on before, or whose size is known; null for others. */
    private Passed pass(Object key, int keyBytes, Object value) throws IOException {
        int place = System.identityHashCode(value) % RECENT;
        Passed before = recent[place];
        if (before == null || before.value != value) {
            return pass(key, keyBytes, value, known.of(value));
        }
        if (before.key == key) {
            return before;
        }
        int number = values.addAgain(key, keyBytes, before.number);
        return number < 0 ? null : note(place, new Passed(key, value, number, before.length));
    }

    /** Passes a pair on as objects, if the value is large enough and there is room; else null. */
    private Passed pass(Object key, int keyBytes, Object value, int length) {
        if (length < SharedRoom.LARGE_BYTES) {
            return null;
        }
        int number = values.add(new LiveValues.Pair(key, value, length, known.roomOf(value)), keyBytes);
        return number < 0
                ? null
                : note(System.identityHashCode(value) % RECENT, new Passed(key, value, number, length));
    }

    private Passed note(int place, Passed passed) {
        recent[place] = passed;
        return passed;
    }

    private void writeNumber(Passed passed, Arena arena, int start) {
        arena.write(OBJECT);
        arena.setInt(arena.skip(Integer.BYTES), passed.number);
        arena.setInt(arena.skip(Integer.BYTES), passed.length);
        hidden += passed.length - (arena.length() - start);
    }
}
