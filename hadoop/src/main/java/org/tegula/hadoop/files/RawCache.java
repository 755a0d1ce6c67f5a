package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.tegula.hadoop.cache.PairCache;

/** The kept data of a file system, as a file system: listing, reading and deleting, and nothing else. */
final class RawCache extends FileSystem {
    private final FileSystem files;
    private final HeldFiles held;
    private final PairCache cache;

    RawCache(FileSystem files, HeldFiles held) {
        this.files = files;
        this.held = held;
        this.cache = held.cache();
        setConf(files.getConf());
    }

    private boolean isKept(Path path) throws IOException {
        return cache.holds(held.cacheName(path)) || held.holds(path);
    }

    private void check(Path path) throws IOException {
        if (!isKept(path)) {
            throw new FileNotFoundException("Nothing is kept of " + path);
        }
    }

    @Override
    public URI getUri() {
        return files.getUri();
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        check(path);
        return files.getFileStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        check(path);
        List<FileStatus> kept = new ArrayList<>();
        for (FileStatus each : files.listStatus(path)) {
            if (isKept(each.getPath())) {
                kept.add(each);
            }
        }
        return kept.toArray(FileStatus[]::new);
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        check(path);
        return files.open(path, bufferSize);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        if (!isKept(path)) {
            return false;
        }
        if (!recursive && files.getFileStatus(path).isDirectory()) {
            throw new IOException("Directory " + path + " is not empty");
        }
        cache.forget(held.cacheName(path));
        held.drop(path);
        return true;
    }

    private static UnsupportedOperationException readOnly() {
        return new UnsupportedOperationException(
                "Data in memory can be read and deleted; write and rename the files themselves");
    }

    @Override
    public FSDataOutputStream create(
            Path path,
            FsPermission permission,
            boolean overwrite,
            int bufferSize,
            short replication,
            long blockSize,
            Progressable progress) {
        throw readOnly();
    }

    @Override
    public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) {
        throw readOnly();
    }

    @Override
    public boolean rename(Path from, Path to) {
        throw readOnly();
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) {
        throw readOnly();
    }

    @Override
    public void setWorkingDirectory(Path folder) {
        files.setWorkingDirectory(folder);
    }

    @Override
    public Path getWorkingDirectory() {
        return files.getWorkingDirectory();
    }
}
