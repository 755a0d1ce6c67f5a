package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/**
 * A file or folder that is in memory alone. Overwriting a file makes a new one. A file has bytes or, if it is a sequence file
 * that a job has written, its pairs, of which bytes are made when a reader needs them.
 */
final class HeldFile {
    private static final AtomicLong CLOCK = new AtomicLong();

    /** Null for folders. */
    private final Room room;

    private final long keepNanos;
    private final long number = CLOCK.incrementAndGet();
    private final Object making = new Object();
    private Chunks bytes;
    private SequencePairs pairs;
    private boolean released;
    private volatile FsPermission permission;
    private volatile long modifiedMillis = System.currentTimeMillis();
    private volatile long used = number;
    private volatile long usedNanos = System.nanoTime();
    private volatile boolean complete;

    private HeldFile(Room room, FsPermission permission, long keepNanos) {
        this.room = room;
        this.keepNanos = keepNanos;
        this.bytes = room == null ? null : new Chunks(room);
        this.permission = permission;
    }

    /** A file that is in memory as long as it is used at least once in some nanoseconds. */
    static HeldFile file(Room room, FsPermission permission, long keepNanos) {
        return new HeldFile(room, permission, keepNanos);
    }

    static HeldFile folder(FsPermission permission) {
        return new HeldFile(null, permission, Long.MAX_VALUE);
    }

    boolean isFolder() {
        return room == null;
    }

    /** The bytes of a file; they are made now if there are only its pairs, and stay. */
    Chunks bytes() throws IOException {
        synchronized (making) {
            Chunks there = made();
            return there == null ? make() : there;
        }
    }

    private synchronized Chunks made() {
        return bytes;
    }

    /** Lets others look at the file meanwhile. */
    private Chunks make() throws IOException {
        Chunks made = new Chunks(room);
        try {
            pairs().writeTo(made);
        } catch (IOException | RuntimeException e) {
            made.release();
            throw e;
        }
        synchronized (this) {
            bytes = made;
            if (released) {
                made.release();
            }
        }
        return made;
    }

    /** Writes a file's bytes, and keeps none. */
    void writeTo(OutputStream out) throws IOException {
        Chunks made = made();
        if (made == null) {
            pairs().writeTo(out);
            return;
        }
        try (InputStream in = made.reader()) {
            in.transferTo(out);
        }
    }

    /** The pairs of a file that is complete, or null. */
    synchronized SequencePairs pairs() {
        return complete ? pairs : null;
    }

    FsPermission permission() {
        return permission;
    }

    void setPermission(FsPermission changed) {
        permission = changed;
    }

    synchronized long length() {
        if (isFolder()) {
            return 0;
        }
        return bytes == null ? pairs.length() : bytes.length();
    }

    long modifiedMillis() {
        return modifiedMillis;
    }

    /** Returns whether the writer has closed the file. */
    boolean isComplete() {
        return complete;
    }

    /** Completes the file. A file that was deleted while it was written has no room any more. */
    synchronized void complete() {
        if (released) {
            release();
        }
        modifiedMillis = System.currentTimeMillis();
        usedNanos = System.nanoTime();
        complete = true;
    }

    /** Ends a file that has pairs: beside bytes that were written, or without. */
    synchronized void complete(SequencePairs written) {
        pairs = written;
        if (bytes.length() == 0) {
            bytes = null;
        }
        complete();
    }

    /** When it was last opened, by a clock that ticks with each use. */
    long used() {
        return used;
    }

    void touch() {
        used = CLOCK.incrementAndGet();
        usedNanos = System.nanoTime();
    }

    /** Whether nobody has used it for so long that it goes to the disk. */
    boolean isIdle() {
        return complete && System.nanoTime() - usedNanos > keepNanos;
    }

    /** Gives back its memory; open readers may go on. */
    synchronized void release() {
        released = true;
        if (bytes != null) {
            bytes.release();
        }
        if (pairs != null) {
            pairs.release();
        }
    }

    FileVersion version() {
        return new FileVersion(length(), modifiedMillis, "held " + number, 0);
    }
}
