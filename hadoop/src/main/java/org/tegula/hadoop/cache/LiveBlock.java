package org.tegula.hadoop.cache;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.live.SharedRoom;
import org.tegula.hadoop.memory.Room;

/**
 * Pairs as the objects that a program has promised not to change any more. A job that promises the same gets them as they
 * are, any other job a copy.
 */
final class LiveBlock extends PairBlock {
    private final Class<?> keyType;
    private final Class<?> valueType;
    private final List<Writable> objects;
    private final int[] valueBytes;
    private final SharedRoom[] valueRooms;
    private final int first;
    private final Room room;
    private long held;

    /**
     * @param objects a key, its value, the next key
     * @param valueBytes how many bytes each value writes of itself
     * @param valueRooms the rooms of large values, held once where a value is repeated; null for others
     * @param room where all else counts
     * @param held the bytes that it takes there
     */
    LiveBlock(
            Class<?> keyType,
            Class<?> valueType,
            List<Writable> objects,
            int[] valueBytes,
            SharedRoom[] valueRooms,
            Room room,
            long held) {
        super(keyType, valueType, objects.size() / 2);
        this.keyType = keyType;
        this.valueType = valueType;
        this.objects = objects;
        this.valueBytes = valueBytes;
        this.valueRooms = valueRooms;
        this.first = 0;
        this.room = room;
        this.held = held;
    }

    private LiveBlock(LiveBlock whole, int first, int end) {
        super(whole, end - first);
        this.keyType = whole.keyType;
        this.valueType = whole.valueType;
        this.objects = whole.objects;
        this.valueBytes = whole.valueBytes;
        this.valueRooms = whole.valueRooms;
        this.first = first;
        this.room = whole.room;
    }

    /** The pairs from one number to another, which is not included; the room stays with the whole. */
    LiveBlock part(int from, int end) {
        return from == 0 && end == pairs() ? this : new LiveBlock(this, from, end);
    }

    /** Takes pairs. */
    interface Taker {
        void take(Writable key, Writable value) throws IOException;
    }

    /** Passes on all pairs. */
    void forEach(Taker taker) throws IOException {
        for (int at = 2 * first; at < 2 * (first + pairs()); at += 2) {
            taker.take(objects.get(at), objects.get(at + 1));
        }
    }

    /** Includes bytes that other blocks share. */
    @Override
    synchronized long heldBytes() {
        long bytes = held;
        for (int pair = 0; pair < valueRooms.length && held > 0; pair++) {
            if (isHeld(valueRooms, pair)) {
                bytes += valueBytes[pair];
            }
        }
        return bytes;
    }

    @Override
    synchronized void release() {
        if (held > 0) {
            letGo(valueRooms);
            room.release(held);
            held = 0;
        }
    }

    /** Lets go of the rooms of values. */
    static void letGo(SharedRoom[] rooms) {
        for (int pair = 0; pair < rooms.length; pair++) {
            if (isHeld(rooms, pair)) {
                rooms[pair].letGo();
            }
        }
    }

    private static boolean isHeld(SharedRoom[] rooms, int pair) {
        return rooms[pair] != null && (pair == 0 || rooms[pair] != rooms[pair - 1]);
    }

    @Override
    boolean fits(Class<?> keys, Class<?> values) {
        return keys == keyType && values == valueType;
    }

    @Override
    public BlockCursor open(Configuration conf) {
        DataOutputBuffer out = new DataOutputBuffer();
        DataInputBuffer in = new DataInputBuffer();
        return new BlockCursor() {
            private int at = 2 * first - 2;
            private final int end = 2 * (first + (int) pairs());

            @Override
            public boolean next() {
                at += 2;
                return at < end;
            }

            @Override
            public Writable key(Writable into) throws IOException {
                return into == null ? objects.get(at) : copy(objects.get(at), into);
            }

            @Override
            public Writable value(Writable into) throws IOException {
                return into == null ? objects.get(at + 1) : copy(objects.get(at + 1), into);
            }

            @Override
            public int valueBytes() {
                return valueBytes[at / 2];
            }

            @Override
            public SharedRoom valueRoom() {
                return valueRooms[at / 2];
            }

            private Writable copy(Writable from, Writable into) throws IOException {
                out.reset();
                from.write(out);
                in.reset(out.getData(), out.getLength());
                into.readFields(in);
                return into;
            }
        };
    }
}
