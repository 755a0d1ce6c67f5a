package org.tegula.hadoop.cache;

import java.io.IOException;
import java.io.OutputStream;
import java.util.UUID;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.memory.Arena;

/**
 * Writes a sequence file without compression and metadata to a stream, as Hadoop's writer does. It needs the names of
 * classes only, so that a file can be written when its job's classes are gone.
 */
final class SequenceBytes {
    private static final byte[] VERSION = {'S', 'E', 'Q', 6};

    private final OutputStream out;
    private final SequenceLayout layout;
    private final Arena record = new Arena(1 << 10);
    private final byte[] mark = new byte[SequenceLayout.MARK_BYTES];

    /** Writes the header. */
    SequenceBytes(String keyType, String valueType, OutputStream out) throws IOException {
        this.out = out;
        Arena random = new Arena(mark.length);
        UUID drawn = UUID.randomUUID();
        random.writeLong(drawn.getMostSignificantBits());
        random.writeLong(drawn.getLeastSignificantBits());
        System.arraycopy(random.bytes(), 0, mark, 0, mark.length);
        writeHeader(keyType, valueType, mark, record);
        out.write(record.bytes(), 0, record.length());
        layout = new SequenceLayout(record.length());
    }

    static int headerBytes(String keyType, String valueType) throws IOException {
        Arena header = new Arena(1 << 8);
        writeHeader(keyType, valueType, new byte[SequenceLayout.MARK_BYTES], header);
        return header.length();
    }

    private static void writeHeader(String keyType, String valueType, byte[] mark, Arena header) throws IOException {
        header.write(VERSION, 0, VERSION.length);
        Text.writeString(header, keyType);
        Text.writeString(header, valueType);
        header.writeBoolean(false);
        header.writeBoolean(false);
        header.writeInt(0);
        header.write(mark, 0, mark.length);
    }

    /** Writes a pair, and a mark before it where one is due. */
    void add(Writable key, Writable value) throws IOException {
        record.truncate(0);
        record.skip(SequenceLayout.RECORD_HEAD_BYTES);
        key.write(record);
        int keyBytes = record.length() - SequenceLayout.RECORD_HEAD_BYTES;
        value.write(record);
        int pairBytes = record.length() - SequenceLayout.RECORD_HEAD_BYTES;
        record.setInt(0, pairBytes);
        record.setInt(Integer.BYTES, keyBytes);
        int recordBytes = record.length();
        if (layout.add(pairBytes)) {
            int at = record.skip(SequenceLayout.ESCAPED_MARK_BYTES);
            record.setInt(at, SequenceLayout.ESCAPE);
            System.arraycopy(mark, 0, record.bytes(), at + Integer.BYTES, mark.length);
            out.write(record.bytes(), at, SequenceLayout.ESCAPED_MARK_BYTES);
        }
        out.write(record.bytes(), 0, recordBytes);
    }

    /** Ends the file. */
    void close() throws IOException {
        out.close();
    }

    /** Returns the layout of the bytes so far. */
    SequenceLayout layout() {
        return layout;
    }
}
