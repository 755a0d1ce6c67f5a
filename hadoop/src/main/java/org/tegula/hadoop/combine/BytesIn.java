package org.tegula.hadoop.combine;

import java.io.DataInputStream;
import java.io.InputStream;
import java.util.Objects;
import org.apache.hadoop.io.WritableUtils;

/** Bytes in memory to be deserialised. Unlike Hadoop's buffers it takes no lock for each byte; one thread reads. */
public final class BytesIn extends DataInputStream {
    private final Source source;

    /** Empty at first. */
    public BytesIn() {
        this(new Source());
    }

    private BytesIn(Source source) {
        super(source);
        this.source = source;
    }

    /**
     * Points it at some bytes.
     *
     * @param bytes where they are
     * @param start the first
     * @param length how many
     */
    public void reset(byte[] bytes, int start, int length) {
        source.bytes = bytes;
        source.at = start;
        source.end = start + length;
    }

    /** The array that is read from. */
    byte[] bytes() {
        return source.bytes;
    }

    /** Goes over some bytes; gives back where they begin. */
    int take(int count) throws IndexOutOfBoundsException {
        int at = source.at;
        source.at = at + Objects.checkFromIndexSize(0, count, source.end - at) + count;
        return at;
    }

    /** Reads an integer written by {@link org.apache.hadoop.io.WritableUtils#writeVInt}. */
    int takeVInt() {
        byte first = source.bytes[take(1)];
        int more = WritableUtils.decodeVIntSize(first) - 1;
        if (more == 0) {
            return first;
        }
        int at = take(more);
        int value = 0;
        for (int i = 0; i < more; i++) {
            value = value << 8 | source.bytes[at + i] & 0xFF;
        }
        return WritableUtils.isNegativeVInt(first) ? ~value : value;
    }

    private static final class Source extends InputStream {
        private byte[] bytes = {};
        private int at;
        private int end;

        @Override
        public int read() {
            return at < end ? bytes[at++] & 0xFF : -1;
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            if (length == 0) {
                return 0;
            }
            if (at == end) {
                return -1;
            }
            int count = Math.min(length, end - at);
            System.arraycopy(bytes, at, target, offset, count);
            at += count;
            return count;
        }

        @Override
        public long skip(long count) {
            int skipped = (int) Math.max(0, Math.min(count, end - at));
            at += skipped;
            return skipped;
        }

        @Override
        public int available() {
            return end - at;
        }
    }
}
