package org.tegula.hadoop.files;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/** A held file that pairs are written to. */
final class HeldPairs implements SequencePairsWriter.Target {
    private final HeldFiles files;
    private final HeldFile file;
    private final HeldOutput output;

    HeldPairs(HeldFiles files, String name, HeldFile file) {
        this.files = files;
        this.file = file;
        this.output = new HeldOutput(files.flush(), name, file);
    }

    @Override
    public Room room() {
        return files.cache();
    }

    @Override
    public boolean makeRoom() throws IOException {
        return files.flush().writeOldest();
    }

    @Override
    public OutputStream bytes() {
        return new BufferedOutputStream(output, HeldFiles.BUFFER_BYTES);
    }

    @Override
    public Chunks held() throws IOException {
        return output.isOnDisk() ? null : file.bytes();
    }

    @Override
    public void complete(SequencePairs pairs) {
        if (pairs != null) {
            file.complete(pairs);
        }
    }
}
