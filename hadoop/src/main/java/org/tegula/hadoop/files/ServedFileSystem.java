package org.tegula.hadoop.files;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** The local disk as a client of a server sees it: with the outputs that the server has in memory alone. */
final class ServedFileSystem extends LocalDisk {
    private final LocalDisk disk = new LocalDisk();
    private ServedOverlay served;

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        disk.initialize(uri, conf);
        served = new ServedOverlay(disk, conf);
    }

    @Override
    public void close() throws IOException {
        super.close();
        served.close();
    }

    @Override
    public void setWorkingDirectory(Path folder) {
        super.setWorkingDirectory(folder);
        disk.setWorkingDirectory(folder);
    }

    /** Returns a file of the disk, after the server has written it there if necessary. */
    @Override
    public File pathToFile(Path path) {
        try {
            served.writeToDisk(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return super.pathToFile(path);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return served.exists(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return served.status(path);
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return served.concerns(path) ? getFileStatus(path) : disk.getFileLinkStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return served.list(path);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        return served.mkdirs(path, null);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return served.mkdirs(path, permission);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return served.delete(path, recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return served.rename(from, to);
    }
}
