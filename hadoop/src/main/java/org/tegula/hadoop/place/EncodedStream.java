package org.tegula.hadoop.place;

import java.io.IOException;
import java.io.InputStream;
import org.apache.hadoop.io.DataOutputBuffer;

/** The bytes of a {@link RunEncoder} for a reader in the same JVM: they are made as they are read. */
final class EncodedStream extends InputStream {
    private static final int ENOUGH_BYTES = 1 << 14;

    private final RunEncoder encoder;
    private final DataOutputBuffer made = new DataOutputBuffer();
    private int at;

    EncodedStream(RunEncoder encoder) {
        this.encoder = encoder;
    }

    private boolean fill() throws IOException {
        if (at == made.getLength()) {
            made.reset();
            at = 0;
            while (made.getLength() < ENOUGH_BYTES && encoder.next(made)) {
                // The next record follows.
            }
        }
        return at < made.getLength();
    }

    @Override
    public int read() throws IOException {
        return fill() ? made.getData()[at++] & 0xFF : -1;
    }

    @Override
    public int read(byte[] target, int start, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (!fill()) {
            return -1;
        }
        int count = Math.min(length, made.getLength() - at);
        System.arraycopy(made.getData(), at, target, start, count);
        at += count;
        return count;
    }

    @Override
    public void close() throws IOException {
        encoder.close();
    }
}
