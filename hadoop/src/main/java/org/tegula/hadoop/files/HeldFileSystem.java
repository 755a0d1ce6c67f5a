package org.tegula.hadoop.files;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.Versioned;

/**
 * The local disk with some files that are in memory alone. They are visible to all of Hadoop's calls. Calls other than names,
 * listings, reading and writing, and requests for a {@link File}, put them on the disk first.
 */
public final class HeldFileSystem extends LocalDisk implements Versioned {
    private static final HeldTree HELD = new HeldTree();

    private final LocalDisk disk = new LocalDisk();
    private HeldFiles held;

    /** Made by Hadoop. */
    public HeldFileSystem() {}

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        disk.initialize(uri, conf);
        held = new HeldFiles(this, new LocalBelow(disk), HELD, () -> held, conf);
    }

    /**
     * Puts everything in memory on the disk.
     *
     * @throws IOException if some of it cannot be written; all else is
     */
    public void writeAllToDisk() throws IOException {
        held.flush().writeAll();
    }

    /**
     * The files of this JVM that are in memory alone.
     *
     * @return their sizes by their names on the disk
     */
    public static Map<String, Long> sizes() {
        return HELD.sizes();
    }

    /**
     * Puts the files in memory at and below a path on the disk.
     *
     * @param path that nothing need be held of
     * @throws IOException if the disk does not take it
     */
    public void writeToDisk(Path path) throws IOException {
        held.writeToDisk(path);
    }

    HeldFiles held() {
        return held;
    }

    /**
     * Whether the disk alone does not say all about a path.
     *
     * @param path any path
     * @return true if anything at or below it is in memory alone, or would be if it were written
     * @throws IOException if the path is of another file system
     */
    public boolean concerns(Path path) throws IOException {
        return held.concerns(path);
    }

    @Override
    public FileVersion version(Path path) throws IOException {
        return held.version(path);
    }

    @Override
    public SequencePairs pairs(Path path) throws IOException {
        return held.pairs(path);
    }

    /** Returns a file of the disk, after writing it there if it is in memory. */
    @Override
    public File pathToFile(Path path) {
        try {
            writeToDisk(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return super.pathToFile(path);
    }

    @Override
    public void setWorkingDirectory(Path folder) {
        super.setWorkingDirectory(folder);
        disk.setWorkingDirectory(folder);
    }

    @Override
    public FsStatus getStatus(Path path) throws IOException {
        return disk.getStatus(path);
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        HeldInput input = held.open(path, statistics);
        return input == null ? super.open(path, bufferSize) : new FSDataInputStream(input);
    }

    @Override
    protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
            throws IOException {
        OutputStream output = append ? null : held.create(path, permission, false);
        return output == null ? super.createOutputStreamWithMode(path, append, permission) : output;
    }

    /** Counts bytes that a job has written, for its counters, where no stream counted them. */
    void countWritten(long bytes) {
        statistics.incrementBytesWritten(bytes);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return held.exists(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return held.status(path);
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return held.has(path) ? held.status(path) : disk.getFileLinkStatus(path);
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        if (!held.setPermission(path, permission)) {
            super.setPermission(path, permission);
        }
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return held.list(path);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        return held.mkdirs(path, null);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return held.mkdirs(path, permission);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return held.delete(path, recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return held.rename(from, to);
    }
}
