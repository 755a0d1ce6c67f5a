package org.tegula.hadoop.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.IOException;
import org.tegula.hadoop.wire.Target;

/** Classes of a job's jar, in which a call of one method is replaced: bytes that are no class stay as they are. */
public final class ClassFilesTarget implements Target {
    private static final int COUNT_AT = 8;

    @Override
    public void read(byte[] bytes) throws IOException {
        byte[] original = bytes.clone();
        byte[] changed = JobExit.in(bytes);
        assertEquals(0, java.util.Arrays.compare(original, bytes), "the input was changed");
        if (changed == bytes) {
            throw new IOException("Nothing was replaced");
        }
        assertEquals(count(bytes) + 2, count(changed));
        assertSame(changed, JobExit.in(changed), "a call was left");
    }

    private static int count(byte[] type) {
        return Byte.toUnsignedInt(type[COUNT_AT]) << 8 | Byte.toUnsignedInt(type[COUNT_AT + 1]);
    }
}
