package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.impl.StoreImplementationUtils;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.IOStatisticsSupport;
import org.apache.hadoop.util.DataChecksum;

/**
 * Writes a file and its checksums, the same as Hadoop's {@code ChecksumFileSystem} to the byte, but many chunks at once: there,
 * each 512 bytes go through three layers of streams on their own, which takes longer than to sum and to write them.
 */
final class ChecksummedOutput extends OutputStream implements StreamCapabilities, IOStatisticsSource {
    private static final byte[] VERSION = {'c', 'r', 'c', 0};
    private static final int BUFFER_BYTES = 1 << 16;

    private final FSDataOutputStream data;
    private final FSDataOutputStream sums;
    private final DataChecksum checksum;
    private final int chunkBytes;
    private final byte[] buffer;
    private final byte[] bufferSums;
    private int used;
    private boolean closed;

    /**
     * @param data takes the file; it is closed here
     * @param sums takes the checksums; it is closed here
     * @param chunkBytes the bytes of each checksum
     */
    ChecksummedOutput(FSDataOutputStream data, FSDataOutputStream sums, int chunkBytes) throws IOException {
        this.data = data;
        this.sums = sums;
        this.chunkBytes = chunkBytes;
        checksum = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32, chunkBytes);
        int chunks = Math.max(1, BUFFER_BYTES / chunkBytes);
        buffer = new byte[chunks * chunkBytes];
        bufferSums = new byte[chunks * checksum.getChecksumSize()];
        sums.write(VERSION, 0, VERSION.length);
        sums.writeInt(chunkBytes);
    }

    @Override
    public synchronized void write(int b) throws IOException {
        checkOpen();
        buffer[used++] = (byte) b;
        putFull();
    }

    @Override
    public synchronized void write(byte[] source, int offset, int length) throws IOException {
        checkOpen();
        Objects.checkFromIndexSize(offset, length, source.length);
        int at = offset;
        int left = length;
        while (left > 0) {
            if (used == 0 && left >= buffer.length) {
                put(source, at, buffer.length);
                at += buffer.length;
                left -= buffer.length;
                continue;
            }
            int part = Math.min(left, buffer.length - used);
            System.arraycopy(source, at, buffer, used, part);
            used += part;
            at += part;
            left -= part;
            putFull();
        }
    }

    private void checkOpen() throws IOException {
        if (closed) {
            throw new ClosedChannelException();
        }
    }

    private void putFull() throws IOException {
        if (used == buffer.length) {
            used = 0;
            put(buffer, 0, buffer.length);
        }
    }

    /** Of the chunks, only the last of the file may be a part of one. */
    private void put(byte[] source, int offset, int length) throws IOException {
        int chunks = (length + chunkBytes - 1) / chunkBytes;
        checksum.calculateChunkedSums(source, offset, length, bufferSums, 0);
        data.write(source, offset, length);
        sums.write(bufferSums, 0, chunks * checksum.getChecksumSize());
    }

    /** Hands on whole chunks, and does not flush the streams below: both as Hadoop does. */
    @Override
    public synchronized void flush() throws IOException {
        int whole = used - used % chunkBytes;
        put(buffer, 0, whole);
        System.arraycopy(buffer, whole, buffer, 0, used - whole);
        used -= whole;
    }

    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        try {
            put(buffer, 0, used);
        } finally {
            try {
                sums.close();
            } finally {
                data.close();
            }
        }
    }

    @Override
    public IOStatistics getIOStatistics() {
        return IOStatisticsSupport.retrieveIOStatistics(data);
    }

    /** A chunk that is not full could not be synced. */
    @Override
    public boolean hasCapability(String capability) {
        return !StoreImplementationUtils.isProbeForSyncable(capability) && data.hasCapability(capability);
    }
}
