package org.tegula.hadoop.cache;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.live.ByteMeter;
import org.tegula.hadoop.live.KnownSize;
import org.tegula.hadoop.live.SharedRoom;
import org.tegula.hadoop.memory.Ints;
import org.tegula.hadoop.memory.NoRoomException;
import org.tegula.hadoop.memory.Room;

/**
 * Keeps the objects of pairs; their sizes are those of their serialised form. Objects of a class that is loaded by its job
 * would keep all of the job's classes, so they are kept as bytes.
 */
final class LiveBlockWriter extends BlockWriter {
    /** The memory of two objects beside their contents, roughly. */
    private static final int PAIR_BYTES = 96;

    private static final int STEP_BYTES = 1 << 12;

    private final Room room;
    private final KnownSize known;
    private final RoundTrip check;
    private final List<Writable> objects = new ArrayList<>();
    private BytesBlockWriter asBytes;
    private int[] valueBytes = new int[16];
    private SharedRoom[] valueRooms = new SharedRoom[16];
    private Writable lastKey;
    private Writable lastValue;
    private int lastKeyBytes;
    private int lastBytes;
    private SharedRoom lastRoom;
    private long needed;
    private long held;

    /** Of objects that are kept as bytes, it is checked that they come back as they were, if there is a check. */
    LiveBlockWriter(Room room, KnownSize known, RoundTrip check) {
        this.room = room;
        this.known = known;
        this.check = check;
    }

    @Override
    void write(Writable key, Writable value) throws IOException {
        if (lastKey == null && (ClassOrigin.isOfJob(key.getClass()) || ClassOrigin.isOfJob(value.getClass()))) {
            asBytes = asBytes == null ? new BytesBlockWriter(room, check) : asBytes;
            asBytes.write(key, value);
            return;
        }
        writeLive(key, value);
    }

    /** Keeps a pair as it is, whatever its classes; tells how many bytes it writes of itself. */
    int writeLive(Writable key, Writable value) throws IOException {
        int keyBytes = key == lastKey ? lastKeyBytes : ByteMeter.of(key);
        int bytes = value == lastValue ? lastBytes : valueBytes(value);
        boolean isShared = bytes >= SharedRoom.LARGE_BYTES;
        long with =
                needed + PAIR_BYTES + (key == lastKey ? 0 : keyBytes) + (value == lastValue || isShared ? 0 : bytes);
        if (with > held) {
            long more = Math.max(STEP_BYTES, with - held);
            if (!room.reserve(more)) {
                throw new NoRoomException(more);
            }
            held += more;
        }
        SharedRoom shared = value == lastValue ? lastRoom : isShared ? share(value, bytes) : null;
        int pair = objects.size() / 2;
        if (pair == valueBytes.length) {
            valueBytes = Ints.doubled(valueBytes);
            valueRooms = Arrays.copyOf(valueRooms, valueBytes.length);
        }
        valueBytes[pair] = bytes;
        valueRooms[pair] = shared;
        objects.add(key);
        objects.add(value);
        needed = with;
        lastKeyBytes = keyBytes;
        lastBytes = bytes;
        lastRoom = shared;
        lastKey = key;
        lastValue = value;
        return Math.addExact(keyBytes, bytes);
    }

    private int valueBytes(Writable value) throws IOException {
        int bytes = known.of(value);
        if (bytes == KnownSize.UNKNOWN) {
            bytes = ByteMeter.of(value);
            known.set(value, bytes, null);
        }
        return bytes;
    }

    /** The room of a value that other blocks have, too, or a new one. */
    private SharedRoom share(Writable value, int bytes) throws NoRoomException {
        SharedRoom there = known.roomOf(value);
        if (there != null && there.hold(room)) {
            return there;
        }
        SharedRoom made = SharedRoom.reserve(room, bytes);
        if (made == null) {
            throw new NoRoomException(bytes);
        }
        known.set(value, bytes, made);
        return made;
    }

    @Override
    PairBlock block(Class<?> keyType, Class<?> valueType, long pairs) {
        return asBytes != null ? asBytes.block(keyType, valueType, pairs) : liveBlock(keyType, valueType);
    }

    /** All pairs that were kept as they are. */
    LiveBlock liveBlock(Class<?> keyType, Class<?> valueType) {
        return new LiveBlock(keyType, valueType, objects, valueBytes, valueRooms, room, held);
    }

    @Override
    void release() {
        if (asBytes != null) {
            asBytes.release();
        }
        LiveBlock.letGo(valueRooms);
        valueRooms = new SharedRoom[0];
        room.release(held);
        held = 0;
    }
}
