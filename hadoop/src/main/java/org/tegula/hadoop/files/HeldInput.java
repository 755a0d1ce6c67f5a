package org.tegula.hadoop.files;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.tegula.hadoop.memory.Chunks;

/** Reads a held file, as Hadoop reads files. */
final class HeldInput extends FSInputStream {
    private final Chunks.Reader bytes;
    private final FileSystem.Statistics statistics;

    HeldInput(Chunks.Reader bytes, FileSystem.Statistics statistics) {
        this.bytes = bytes;
        this.statistics = statistics;
    }

    @Override
    public synchronized void seek(long position) throws IOException {
        if (position < 0) {
            throw new EOFException("There is nothing before the begin: " + position);
        }
        bytes.seek(position);
    }

    @Override
    public synchronized long getPos() {
        return bytes.position();
    }

    @Override
    public boolean seekToNewSource(long position) {
        return false;
    }

    @Override
    public synchronized int read() {
        int read = bytes.read();
        if (read >= 0) {
            statistics.incrementBytesRead(1);
        }
        return read;
    }

    @Override
    public synchronized int read(byte[] target, int offset, int length) {
        int read = bytes.read(target, offset, length);
        if (read > 0) {
            statistics.incrementBytesRead(read);
        }
        return read;
    }

    @Override
    public synchronized int available() {
        return bytes.available();
    }
}
