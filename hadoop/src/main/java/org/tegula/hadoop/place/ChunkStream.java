package org.tegula.hadoop.place;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** Reads the chunks of a {@link DataServer} up to their end, which is not that of the connection. */
class ChunkStream extends InputStream {
    private final DataInputStream in;
    private final String from;
    private int left;
    private boolean ended;
    private boolean isBroken;

    /**
     * @param from who has made them, for messages
     */
    ChunkStream(DataInputStream in, String from) {
        this.in = in;
        this.from = from;
    }

    private boolean hasMore() throws IOException {
        if (left == 0 && !ended) {
            left = readLength();
            ended = left == DataServer.END;
        }
        return !ended;
    }

    private int readLength() throws IOException {
        isBroken = true;
        try {
            int length = in.readInt();
            if (length == DataServer.FAULT) {
                throw new IOException("From " + from + ": " + in.readUTF());
            }
            if (length < 0) {
                throw new IOException(
                        "The pairs of " + from + " were damaged on their way: a chunk of " + length + " bytes");
            }
            isBroken = false;
            return length;
        } catch (EOFException e) {
            throw new IOException("The pairs of " + from + " ended on their way", e);
        }
    }

    @Override
    public int read() throws IOException {
        if (!hasMore()) {
            return -1;
        }
        left--;
        return in.readUnsignedByte();
    }

    @Override
    public int read(byte[] target, int start, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (!hasMore()) {
            return -1;
        }
        int count = in.read(target, start, Math.min(length, left));
        if (count < 0) {
            throw new EOFException("The pairs of " + from + " ended on their way");
        }
        left -= count;
        return count;
    }

    /** Whether all was read, so that the connection can be used again. */
    final boolean isWhole() throws IOException {
        return !isBroken && left == 0 && !hasMore();
    }
}
