package org.tegula.hadoop.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.hadoop.io.WritableUtils;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** A spill file, beside Hadoop's own reader of its lengths. With a wrong checksum it is never read to its end. */
public final class SpillsTarget implements Target {
    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        int choice = input.choice();
        byte[] contents = input.rest();
        boolean isWhole = choice % 2 == 0;
        CRC32C checksum = new CRC32C();
        checksum.update(contents);
        int noted = (int) checksum.getValue() ^ (isWhole ? 0 : 1);
        Path file = input.file("run");
        Run run = new FileRun(file, new long[] {0, contents.length}, new int[] {noted}, new long[1], new long[1]);
        List<byte[]> expected = isWhole ? records(contents) : null;
        List<byte[]> read = new ArrayList<>();
        try (RunCursor at = run.open(0)) {
            while (at.next()) {
                boolean isLoaded = choice / 2 % 2 == 0;
                if (isLoaded) {
                    at.load();
                }
                int length = at.keyLength() + (isLoaded ? at.valueLength() : 0);
                read.add(Arrays.copyOfRange(at.bytes(), at.keyStart(), at.keyStart() + length));
                if (!isLoaded && expected != null && read.size() <= expected.size()) {
                    byte[] whole = expected.get(read.size() - 1);
                    assertTrue(whole.length >= length);
                    expected.set(read.size() - 1, Arrays.copyOf(whole, length));
                }
            }
        } catch (IOException e) {
            if (expected != null && Arrays.equals(contents, written(contents))) {
                throw new AssertionError("a whole file was refused", e);
            }
            throw e;
        }
        if (expected == null) {
            fail("a damaged file was read to its end");
        }
        assertEquals(expected.size(), read.size());
        for (int i = 0; i < read.size(); i++) {
            assertArrayEquals(expected.get(i), read.get(i));
        }
    }

    /** The keys and values of a file; null if it is damaged. */
    private static List<byte[]> records(byte[] contents) throws IOException {
        List<byte[]> all = new ArrayList<>();
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(contents));
        try {
            while (in.available() > 0) {
                int key = WritableUtils.readVInt(in);
                int value = WritableUtils.readVInt(in);
                if (key < 0 || value < 0 || (long) key + value > in.available()) {
                    return null;
                }
                all.add(in.readNBytes(key + value));
            }
            return all;
        } catch (IOException e) {
            return null;
        }
    }

    /** The same records, with their lengths in the one form in which the engine writes them. */
    private static byte[] written(byte[] contents) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(contents));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        while (in.available() > 0) {
            int key = WritableUtils.readVInt(in);
            int value = WritableUtils.readVInt(in);
            WritableUtils.writeVInt(out, key);
            WritableUtils.writeVInt(out, value);
            out.write(in.readNBytes(key + value));
        }
        return bytes.toByteArray();
    }
}
