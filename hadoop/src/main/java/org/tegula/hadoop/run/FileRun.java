package org.tegula.hadoop.run;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.apache.hadoop.io.WritableUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A run in a file, partition after partition, each with a checksum that is compared when it is read to its end. */
final class FileRun implements Run {
    private static final Logger LOG = LoggerFactory.getLogger(FileRun.class);
    private static final int BUFFER_BYTES = 1 << 16;
    /** The first byte of a length that is not negative, and has four bytes more. */
    private static final int LEAST_VINT_HEAD = -116;

    private static final int LARGEST_ARRAY = Integer.MAX_VALUE - 8;

    private final Path file;
    private final long[] starts;
    private final int[] checksums;
    private final long[] hidden;
    private final long[] records;

    FileRun(Path file, long[] starts, int[] checksums, long[] hidden, long[] records) {
        this.file = file;
        this.starts = starts;
        this.checksums = checksums;
        this.hidden = hidden;
        this.records = records;
    }

    @Override
    public long bytes(int partition) {
        return starts[partition + 1] - starts[partition];
    }

    @Override
    public long wholeBytes(int partition) {
        return bytes(partition) + hidden[partition];
    }

    @Override
    public long records(int partition) {
        return records[partition];
    }

    @Override
    public RunCursor open(int partition) throws IOException {
        FileChannel channel = FileChannel.open(file);
        channel.position(starts[partition]);
        return new Cursor(channel, bytes(partition), checksums[partition]);
    }

    @Override
    public boolean onDisk() {
        return true;
    }

    @Override
    public void release() {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            LOG.warn("The spill file {} could not be deleted and may be removed by hand", file, e);
        }
    }

    private final class Cursor extends RunCursor {
        private final FileChannel in;
        private final CRC32C seen = new CRC32C();
        private final int checksum;
        private final byte[] buffer = new byte[BUFFER_BYTES];
        /** Not yet in the buffer. */
        private long unread;
        /** In the buffer, but not yet given out, up to {@link #filled}. */
        private int at;

        private int filled;
        /** How much of the present record's value was not looked at: all or nothing. */
        private int unloaded;

        Cursor(FileChannel in, long length, int checksum) {
            this.in = in;
            this.unread = length;
            this.checksum = checksum;
        }

        @Override
        public boolean next() throws IOException {
            bytes = buffer;
            skipValue();
            if (unread == 0 && at == filled) {
                if ((int) seen.getValue() != checksum) {
                    throw new IOException("The spill file " + file + " was damaged after it was written: its checksum"
                            + " differs. The disk may be failing; run the job again");
                }
                return false;
            }
            keyLength = vint();
            valueLength = vint();
            check(keyLength, valueLength);
            if (keyLength + valueLength <= buffer.length) {
                keyStart = take(keyLength + valueLength);
            } else if (keyLength <= buffer.length) {
                keyStart = take(keyLength);
                unloaded = valueLength;
            } else {
                bytes = new byte[keyLength];
                keyStart = 0;
                read(0, keyLength);
                unloaded = valueLength;
            }
            return true;
        }

        @Override
        public void load() throws IOException {
            if (unloaded == 0) {
                return;
            }
            byte[] key = bytes;
            bytes = new byte[keyLength + valueLength];
            System.arraycopy(key, keyStart, bytes, 0, keyLength);
            keyStart = 0;
            unloaded = 0;
            read(keyLength, valueLength);
        }

        private void skipValue() throws IOException {
            while (unloaded > 0) {
                int count = Math.min(unloaded, buffer.length);
                take(count);
                unloaded -= count;
            }
        }

        private int vint() throws IOException {
            ensure(1);
            int size = WritableUtils.decodeVIntSize(buffer[at]);
            if (buffer[at] < LEAST_VINT_HEAD) {
                throw beyondEnd();
            }
            ensure(size);
            return vintAt(buffer, take(size));
        }

        /** A record that goes beyond the end of the partition is none. */
        private void check(int keyBytes, int valueBytes) throws IOException {
            if (keyBytes < 0 || valueBytes < 0 || (long) keyBytes + valueBytes > unread + filled - at) {
                throw beyondEnd();
            }
            if ((long) keyBytes + valueBytes > LARGEST_ARRAY) {
                throw new IOException("A record of " + keyBytes + " and " + valueBytes
                        + " bytes is larger than an array: make keys or values of the job smaller");
            }
        }

        private EOFException beyondEnd() {
            return new EOFException("The spill file " + file + " was damaged after it was written: a record goes"
                    + " beyond its end. The disk may be failing; run the job again");
        }

        /** Passes over bytes, which are in the buffer then; gives back where. */
        private int take(int count) throws IOException {
            ensure(count);
            at += count;
            return at - count;
        }

        /** Brings the next bytes into the buffer, one after the other. */
        private void ensure(int needed) throws IOException {
            int held = filled - at;
            if (held >= needed) {
                return;
            }
            if (needed - held > unread) {
                throw beyondEnd();
            }
            System.arraycopy(buffer, at, buffer, 0, held);
            at = 0;
            int count = (int) Math.min(buffer.length - held, unread);
            fill(buffer, held, count);
            filled = held + count;
        }

        /** Reads the next bytes to a place in the record's own array: those in the buffer, and then more. */
        private void read(int target, int count) throws IOException {
            int held = Math.min(filled - at, count);
            System.arraycopy(buffer, at, bytes, target, held);
            at += held;
            fill(bytes, target + held, count - held);
        }

        /**
         * Reads from the channel itself, piece by piece. A stream over it would refer to the last array until it is closed: a
         * large value of each run. The channel takes a buffer outside of the heap as long as each read.
         */
        private void fill(byte[] target, int start, int count) throws IOException {
            for (int done = 0; done < count; ) {
                ByteBuffer piece = ByteBuffer.wrap(target, start + done, Math.min(BUFFER_BYTES, count - done));
                int got = in.read(piece);
                if (got < 0) {
                    throw beyondEnd();
                }
                done += got;
            }
            seen.update(target, start, count);
            unread -= count;
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
