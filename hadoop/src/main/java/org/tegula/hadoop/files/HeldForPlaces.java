package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;

/** The driver's files in memory, as its places ask for them. */
public final class HeldForPlaces implements DriverFiles {
    private final HeldFileSystem files = new HeldFileSystem();

    /**
     * The files of this JVM.
     *
     * @param conf of the engine
     * @throws IOException if the local file system cannot be had
     */
    public HeldForPlaces(Configuration conf) throws IOException {
        files.initialize(URI.create("file:///"), conf);
    }

    @Override
    public boolean concerns(String path) throws IOException {
        return files.concerns(new Path(path));
    }

    @Override
    public FileStatus status(String path) throws IOException {
        try {
            return plain(files.getFileStatus(new Path(path)));
        } catch (FileNotFoundException e) {
            return null;
        }
    }

    @Override
    public FileStatus[] list(String path) throws IOException {
        FileStatus[] all = files.listStatus(new Path(path));
        for (int i = 0; i < all.length; i++) {
            all[i] = plain(all[i]);
        }
        return all;
    }

    /** Of a class that a place can make. */
    private static FileStatus plain(FileStatus status) {
        return new FileStatus(
                status.getLen(),
                status.isDirectory(),
                status.getReplication(),
                status.getBlockSize(),
                status.getModificationTime(),
                status.getAccessTime(),
                status.getPermission(),
                status.getOwner(),
                status.getGroup(),
                status.getPath());
    }

    @Override
    public boolean mkdirs(String path, FsPermission permission) throws IOException {
        return permission == null ? files.mkdirs(new Path(path)) : files.mkdirs(new Path(path), permission);
    }

    @Override
    public boolean delete(String path, boolean recursive) throws IOException {
        return files.delete(new Path(path), recursive);
    }

    @Override
    public boolean rename(String from, String to) throws IOException {
        return files.rename(new Path(from), new Path(to));
    }

    @Override
    public boolean setPermission(String path, FsPermission permission) throws IOException {
        return files.held().setPermission(new Path(path), permission);
    }

    @Override
    public void writeToDisk(String path) throws IOException {
        try {
            files.writeToDisk(new Path(path));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    @Override
    public boolean wouldHold(String path) throws IOException {
        return files.held().wouldHold(new Path(path));
    }

    @Override
    public boolean add(String path, SequencePairs pairs, int home) throws IOException {
        return files.held().addPairs(new Path(path), pairs);
    }

    @Override
    public SequencePairs pairs(String path) throws IOException {
        return files.pairs(new Path(path));
    }

    @Override
    public FileVersion version(String path) throws IOException {
        return files.version(new Path(path));
    }
}
