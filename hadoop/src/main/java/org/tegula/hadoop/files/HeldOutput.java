package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.tegula.hadoop.memory.NoRoomException;

/**
 * Writes a held file. If there is no room, files that were not used for longest go to the disk, and at last this one: then
 * the rest of it is written there.
 */
final class HeldOutput extends OutputStream {
    private final HeldFlush flush;
    private final String name;
    private final HeldFile file;
    private OutputStream onDisk;
    private boolean closed;

    HeldOutput(HeldFlush flush, String name, HeldFile file) {
        this.flush = flush;
        this.name = name;
        this.file = file;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
        if (onDisk != null) {
            onDisk.write(source, offset, length);
            return;
        }
        long before = file.length();
        while (onDisk == null) {
            int done = (int) (file.length() - before);
            try {
                file.bytes().write(source, offset + done, length - done);
                return;
            } catch (NoRoomException e) {
                if (!flush.writeOldest()) {
                    moveToDisk();
                }
            }
        }
        int done = (int) (file.length() - before);
        onDisk.write(source, offset + done, length - done);
    }

    private void moveToDisk() throws IOException {
        onDisk = flush.goOn(name, file);
        try (InputStream in = file.bytes().reader()) {
            in.transferTo(onDisk);
        }
        file.release();
    }

    /** Whether the file did not stay in memory. */
    boolean isOnDisk() {
        return onDisk != null;
    }

    @Override
    public void flush() throws IOException {
        if (onDisk != null) {
            onDisk.flush();
        }
    }

    @Override
    public void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        if (onDisk != null) {
            onDisk.close();
        } else {
            file.complete();
        }
    }
}
