package org.tegula.hadoop.files;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/** A file or folder that is in memory alone. Whoever overwrites a file makes a new one. */
final class HeldFile {
    private static final AtomicLong CLOCK = new AtomicLong();

    private final Chunks bytes;
    private volatile FsPermission permission;
    private final long number = CLOCK.incrementAndGet();
    private volatile long modifiedMillis = System.currentTimeMillis();
    private volatile long used = number;
    private volatile boolean complete;

    private HeldFile(Chunks bytes, FsPermission permission) {
        this.bytes = bytes;
        this.permission = permission;
    }

    static HeldFile file(Room room, FsPermission permission) {
        return new HeldFile(new Chunks(room), permission);
    }

    static HeldFile folder(FsPermission permission) {
        return new HeldFile(null, permission);
    }

    boolean isFolder() {
        return bytes == null;
    }

    Chunks bytes() {
        return bytes;
    }

    FsPermission permission() {
        return permission;
    }

    void setPermission(FsPermission changed) {
        permission = changed;
    }

    long length() {
        return isFolder() ? 0 : bytes.length();
    }

    long modifiedMillis() {
        return modifiedMillis;
    }

    /** Whether a file was closed by whoever has written it. */
    boolean isComplete() {
        return complete;
    }

    void complete() {
        modifiedMillis = System.currentTimeMillis();
        complete = true;
    }

    /** When it was last opened, by a clock that ticks with each use. */
    long used() {
        return used;
    }

    void touch() {
        used = CLOCK.incrementAndGet();
    }

    /** Gives back its memory; open readers may go on. */
    void release() {
        if (bytes != null) {
            bytes.release();
        }
    }

    FileVersion version() {
        return new FileVersion(bytes.length(), modifiedMillis, "held " + number, 0);
    }
}
