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
    private Arena pair = new Arena(SMALL_BYTES);

    BytesBlockWriter(Room room) {
        bytes = new Chunks(room);
    }

    @Override
    void write(Writable key, Writable value) throws IOException {
        pair.truncate(0);
        key.write(pair);
        value.write(pair);
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
