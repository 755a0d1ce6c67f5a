package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.io.DataOutputBuffer;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** The status of a job as a server sends it, most of which Hadoop's own class reads. */
public final class AnswersTarget implements Target {
    @Override
    public boolean believesLengths() {
        return true;
    }

    @Override
    public void read(byte[] bytes) throws IOException {
        byte[] written = written(status(bytes));
        assertArrayEquals(written, written(status(written)));
    }

    private static Sent.Status status(byte[] bytes) throws IOException {
        Sent.Status status = new Sent.Status();
        status.readFields(new Input(bytes).stream());
        return status;
    }

    private static byte[] written(Sent.Status status) throws IOException {
        DataOutputBuffer out = new DataOutputBuffer();
        status.write(out);
        return Arrays.copyOf(out.getData(), out.getLength());
    }
}
