package org.tegula.hadoop.cache;

import java.io.DataInputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.Writable;
import org.tegula.hadoop.memory.Chunks;

/** Pairs read from the bytes of a sequence file in memory. The bytes are the file's; each reader has objects of its own. */
final class SequenceBlock extends PairBlock {
    private final Chunks bytes;
    private final SequenceLayout.Part part;

    SequenceBlock(Class<?> keyType, Class<?> valueType, Chunks bytes, SequenceLayout.Part part) {
        super(keyType, valueType, part.pairs());
        this.bytes = bytes;
        this.part = part;
    }

    private SequenceBlock(SequenceBlock whole, SequenceLayout.Part part) {
        super(whole, part.pairs());
        this.bytes = whole.bytes;
        this.part = part;
    }

    SequenceBlock part(SequenceLayout.Part wanted) {
        return new SequenceBlock(this, wanted);
    }

    @Override
    long heldBytes() {
        return 0;
    }

    @Override
    void release() {}

    @Override
    boolean fits(Class<?> keys, Class<?> values) {
        return Writable.class.isAssignableFrom(keys) && Writable.class.isAssignableFrom(values);
    }

    @Override
    public BlockCursor open(Configuration conf) {
        return new Cursor(conf);
    }

    private final class Cursor implements BlockCursor {
        private final Configuration conf;
        private final DataInputStream in;
        private final DataInputBuffer field = new DataInputBuffer();
        private byte[] record = new byte[1 << 10];
        private long left = pairs();
        private int recordBytes;
        private int keyBytes;

        Cursor(Configuration conf) {
            this.conf = conf;
            Chunks.Reader reader = bytes.reader();
            in = new DataInputStream(reader);
            try {
                reader.seek(part.start());
            } catch (IOException e) {
                throw new IllegalStateException("A file in memory ends before its records", e);
            }
        }

        @Override
        public boolean next() {
            if (left-- <= 0) {
                return false;
            }
            try {
                recordBytes = in.readInt();
                if (recordBytes == SequenceLayout.ESCAPE) {
                    in.skipNBytes(SequenceLayout.MARK_BYTES);
                    recordBytes = in.readInt();
                }
                keyBytes = in.readInt();
                if (recordBytes > record.length) {
                    record = new byte[(int) Math.min(Integer.MAX_VALUE - 8, Math.max(recordBytes, 2L * record.length))];
                }
                in.readFully(record, 0, recordBytes);
            } catch (IOException e) {
                throw new IllegalStateException("A file in memory ends before its records", e);
            }
            return true;
        }

        @Override
        public Writable key(Writable into) throws IOException {
            return read(into == null ? newKey(conf) : into, 0, keyBytes);
        }

        @Override
        public Writable value(Writable into) throws IOException {
            return read(into == null ? newValue(conf) : into, keyBytes, recordBytes - keyBytes);
        }

        /** An object that does not read all of its bytes is refused, as Hadoop does. */
        private Writable read(Writable into, int start, int length) throws IOException {
            field.reset(record, start, length);
            into.readFields(field);
            if (field.available() > 0) {
                throw new IOException(into.getClass().getName() + " read " + (length - field.available())
                        + " bytes, should read " + length);
            }
            return into;
        }

        @Override
        public int valueBytes() {
            return recordBytes - keyBytes;
        }
    }
}
