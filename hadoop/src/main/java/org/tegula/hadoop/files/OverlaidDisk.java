package org.tegula.hadoop.files;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** The local disk with the outputs that another JVM has in memory alone. */
abstract class OverlaidDisk extends LocalDisk {
    private final LocalDisk disk = new LocalDisk();
    private Overlay overlay;

    /** The files of the other JVM. */
    abstract Overlay overlay(LocalDisk below, Configuration conf) throws IOException;

    final Overlay overlay() {
        return overlay;
    }

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        disk.initialize(uri, conf);
        overlay = overlay(disk, conf);
    }

    @Override
    public void setWorkingDirectory(Path folder) {
        super.setWorkingDirectory(folder);
        disk.setWorkingDirectory(folder);
    }

    /** Returns a file of the disk, after the other JVM has written it there if necessary. */
    @Override
    public File pathToFile(Path path) {
        try {
            overlay.writeToDisk(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return super.pathToFile(path);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return overlay.exists(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return overlay.status(path);
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return overlay.concerns(path) ? getFileStatus(path) : disk.getFileLinkStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return overlay.list(path);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        return overlay.mkdirs(path, null);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return overlay.mkdirs(path, permission);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return overlay.delete(path, recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return overlay.rename(from, to);
    }
}
