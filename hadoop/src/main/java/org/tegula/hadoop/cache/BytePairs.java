package org.tegula.hadoop.cache;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.tegula.hadoop.memory.Chunks;

/** The pairs of a file, in its bytes. */
final class BytePairs extends SequencePairs {
    private final SequenceBlock all;
    private final Chunks bytes;

    BytePairs(Class<?> keyType, Class<?> valueType, Chunks bytes, SequenceLayout layout, Configuration conf, int home) {
        super(layout, conf, home);
        this.bytes = bytes;
        this.all = new SequenceBlock(keyType, valueType, bytes, layout.all());
    }

    @Override
    PairBlock all() {
        return all;
    }

    @Override
    PairBlock part(SequenceLayout.Part part) {
        return all.part(part);
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        try (InputStream in = bytes.reader()) {
            in.transferTo(out);
        }
    }

    @Override
    public void release() {
        bytes.release();
    }
}
