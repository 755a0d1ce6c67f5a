package org.tegula.hadoop.cache;

import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/** Serialises pairs, whose objects may be changed afterwards. */
final class BytesBlockWriter extends BlockWriter {
    private final Chunks bytes;
    private final DataOutputStream out;

    BytesBlockWriter(Room room) {
        bytes = new Chunks(room);
        out = new DataOutputStream(bytes);
    }

    @Override
    void write(Writable key, Writable value) throws IOException {
        key.write(out);
        value.write(out);
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
