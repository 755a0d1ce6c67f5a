package org.tegula.hadoop.run;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.apache.hadoop.io.WritableUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A run in a file, partition after partition, each with a checksum that whoever reads it to its end compares. */
final class FileRun implements Run {
    private static final Logger LOG = LoggerFactory.getLogger(FileRun.class);
    private static final int BUFFER_BYTES = 1 << 16;

    private final Path file;
    private final long[] starts;
    private final int[] checksums;
    private final long[] hidden;

    FileRun(Path file, long[] starts, int[] checksums, long[] hidden) {
        this.file = file;
        this.starts = starts;
        this.checksums = checksums;
        this.hidden = hidden;
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
    public RunCursor open(int partition) throws IOException {
        FileChannel channel = FileChannel.open(file);
        channel.position(starts[partition]);
        return new Cursor(Channels.newInputStream(channel), bytes(partition), checksums[partition]);
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
        private final DataInputStream in;
        private final CRC32C seen = new CRC32C();
        private final int checksum;
        /** Not yet in the buffer. */
        private long unread;
        /** Read, but not yet given out, up to {@link #filled}. */
        private int at;

        private int filled;

        Cursor(InputStream in, long length, int checksum) {
            this.in = new DataInputStream(in);
            this.unread = length;
            this.checksum = checksum;
            this.bytes = new byte[BUFFER_BYTES];
        }

        @Override
        public boolean next() throws IOException {
            if (unread == 0 && at == filled) {
                if ((int) seen.getValue() != checksum) {
                    throw new IOException("The spill file " + file + " was damaged after it was written: its checksum"
                            + " differs. The disk may be failing; run the job again");
                }
                return false;
            }
            keyLength = vint();
            valueLength = vint();
            ensure(keyLength + valueLength);
            keyStart = at;
            at += keyLength + valueLength;
            return true;
        }

        private int vint() throws IOException {
            ensure(1);
            int size = WritableUtils.decodeVIntSize(bytes[at]);
            ensure(size);
            int value = vintAt(bytes, at);
            at += size;
            return value;
        }

        /** Brings the next bytes into the buffer, one after the other. */
        private void ensure(int needed) throws IOException {
            int held = filled - at;
            if (held >= needed) {
                return;
            }
            if (needed < 0 || needed - held > unread) {
                throw new EOFException("The spill file " + file + " was damaged after it was written: a record goes"
                        + " beyond its end. The disk may be failing; run the job again");
            }
            byte[] target = needed <= bytes.length ? bytes : new byte[needed];
            System.arraycopy(bytes, at, target, 0, held);
            bytes = target;
            at = 0;
            int count = (int) Math.min(bytes.length - held, unread);
            in.readFully(bytes, held, count);
            seen.update(bytes, held, count);
            unread -= count;
            filled = held + count;
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
