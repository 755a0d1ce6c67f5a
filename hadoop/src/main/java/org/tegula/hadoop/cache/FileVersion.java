package org.tegula.hadoop.cache;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.FileTime;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Options.HandleOpt;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/**
 * Distinguishes the contents of a file from those that it had before, or that another file of its name had: length and time of
 * modification. For a local file also the inode, and the time of its last change, which nobody can set back; for a file of HDFS the
 * inode and its blocks. Other file systems may identify the file by a handle, or by a tag of its contents, as stores of objects do.
 *
 * @param length in bytes
 * @param modified a time in the file system's own unit
 * @param identity which file it is, or an empty text where the file system does not say
 * @param changed a local file's last change of any kind, in nanoseconds; else 0
 */
public record FileVersion(long length, long modified, Object identity, long changed) {
    /** Disks note times no finer than the kernel's clock ticks, which last ten milliseconds at most. */
    private static final long TICK_MILLIS = 10;

    /** Some file systems note whole seconds. */
    private static final long COARSE_TICK_MILLIS = 1000;

    private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * The version of a file at this moment.
     *
     * @param files where it is
     * @param path its name
     * @return its version
     * @throws FileNotFoundException if there is no such file
     * @throws IOException if the file system fails
     */
    public static FileVersion of(FileSystem files, Path path) throws IOException {
        FileSystem raw = files instanceof LocalFileSystem checked ? checked.getRaw() : files;
        FileVersion held = raw instanceof Versioned versioned ? versioned.version(path) : null;
        if (held != null) {
            return held;
        }
        if (raw instanceof Versioned && raw instanceof FilterFileSystem filter) {
            return of(filter.getRawFileSystem(), path);
        }
        if (HdfsVersion.isOf(raw)) {
            return HdfsVersion.of(raw, path);
        }
        RawLocalFileSystem local = raw instanceof RawLocalFileSystem found ? found : null;
        if (local == null) {
            FileStatus status = files.getFileStatus(path);
            return new FileVersion(status.getLen(), status.getModificationTime(), identity(files, status), 0);
        }
        try {
            Map<String, Object> found = Files.readAttributes(
                    local.pathToFile(path).toPath(), "unix:size,lastModifiedTime,ctime,ino,dev,isRegularFile");
            if (!(boolean) found.get("isRegularFile")) {
                throw new FileNotFoundException(path + " is not a file");
            }
            return new FileVersion(
                    (long) found.get("size"),
                    nanos(found.get("lastModifiedTime")),
                    found.get("dev") + ":" + found.get("ino"),
                    nanos(found.get("ctime")));
        } catch (NoSuchFileException e) {
            throw new FileNotFoundException(path + " does not exist");
        }
    }

    /**
     * Returns which file or folder it is that has a name.
     *
     * @param files where it is
     * @param status of it
     * @return an empty text where the file system does not say
     * @throws IOException if the file system fails
     */
    public static String identity(FileSystem files, FileStatus status) throws IOException {
        if (HdfsVersion.isOf(status)) {
            return HdfsVersion.identity(status);
        }
        if (status instanceof EtagSource tagged && tagged.getEtag() != null) {
            return "tag " + tagged.getEtag();
        }
        try {
            ByteBuffer handle =
                    files.getPathHandle(status, HandleOpt.reference()).bytes();
            byte[] bytes = new byte[handle.remaining()];
            handle.get(bytes);
            return "handle " + HexFormat.of().formatHex(bytes);
        } catch (UnsupportedOperationException | IllegalArgumentException e) {
            return ""; // most file systems have no handles
        }
    }

    private static long nanos(Object time) {
        return ((FileTime) time).to(TimeUnit.NANOSECONDS);
    }

    /**
     * Returns the version of a file that nobody can change any more without changing its version, too: if the file has only
     * just been changed, this waits for the next tick of the disk's clock.
     *
     * @param files where it is
     * @param path its name
     * @return its version, or null if it keeps changing
     * @throws IOException if there is no such file
     * @throws InterruptedException if the task is stopped
     */
    public static FileVersion settled(FileSystem files, Path path) throws IOException, InterruptedException {
        FileVersion first = of(files, path);
        long wait = first.unsettledMillis();
        if (wait <= 0) {
            return first;
        }
        if (wait > TICK_MILLIS) {
            return null;
        }
        Thread.sleep(wait);
        FileVersion second = of(files, path);
        return second.equals(first) ? first : null;
    }

    private long unsettledMillis() {
        if (changed == 0) {
            return 0;
        }
        long tick = changed % SECOND_NANOS == 0 ? COARSE_TICK_MILLIS : TICK_MILLIS;
        return TimeUnit.NANOSECONDS.toMillis(changed) + tick + 1 - System.currentTimeMillis();
    }

    /**
     * Whether another version has the same bytes for all that the file system says of bytes: a file that was renamed.
     *
     * @param other of this file, under another name perhaps
     * @return false if anything but the time of the last change differs
     */
    public boolean sameContents(FileVersion other) {
        return length == other.length && modified == other.modified && identity.equals(other.identity);
    }
}
