package org.tegula.hadoop.cache;

import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/** Serialises pairs, whose objects may be changed afterwards: each in an arena, which takes no locks, and then at once. */
final class BytesBlockWriter extends BlockWriter {
    private static final int SMALL_BYTES = 1 << 16;

    private final Chunks bytes;
    private final RoundTrip check;
    private Arena pair = new Arena(SMALL_BYTES);

    /**
     * @param check null if the bytes are those that readers of the file see
     */
    BytesBlockWriter(Room room, RoundTrip check) {
        bytes = new Chunks(room);
        this.check = check;
    }

    @Override
    void write(Writable key, Writable value) throws IOException {
        pair.truncate(0);
        key.write(pair);
        int middle = pair.length();
        value.write(pair);
        if (check != null) {
            check.check(key, pair.bytes(), 0, middle);
            check.check(value, pair.bytes(), middle, pair.length());
        }
        bytes.write(pair.bytes(), 0, pair.length());
        if (pair.length() > SMALL_BYTES) {
            pair = new Arena(SMALL_BYTES);
        }
    }

    @Override
    PairBlock block(Class<?> keyType, Class<?> valueType, long pairs) {
        return new BytesBlock(keyType, valueType, pairs, bytes);
    }

    @Override
    void release() {
        bytes.release();
    }
}
