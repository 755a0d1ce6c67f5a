package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * A place's view of its driver's files in memory: they are listed, renamed and deleted there. A file that is read as bytes is
 * put on the disk first; a file that is written as bytes goes to the disk.
 */
final class PlaceOverlay implements Overlay {
    private final FileSystem below;
    private final DriverFiles driver;

    PlaceOverlay(FileSystem below, DriverFiles driver) {
        this.below = below;
        this.driver = driver;
    }

    private String name(Path path) {
        return below.makeQualified(path).toString();
    }

    @Override
    public boolean concerns(Path path) throws IOException {
        return driver.concerns(name(path));
    }

    @Override
    public void writeToDisk(Path path) throws IOException {
        driver.writeToDisk(name(path));
    }

    @Override
    public FSInputStream open(Path path, FileSystem.Statistics statistics) throws IOException {
        writeToDisk(path);
        return null;
    }

    /** The folder may be in memory alone. */
    @Override
    public OutputStream create(Path path, FsPermission permission, boolean makesFolder) throws IOException {
        if (concerns(path)) {
            writeToDisk(path);
            if (makesFolder || exists(path.getParent())) {
                below.mkdirs(path.getParent());
            }
        }
        return null;
    }

    @Override
    public boolean wouldHold(Path path) throws IOException {
        return driver.wouldHold(name(path));
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return driver.status(name(path)) != null;
    }

    @Override
    public FileStatus status(Path path) throws IOException {
        FileStatus status = driver.status(name(path));
        if (status == null) {
            throw new FileNotFoundException("File " + path + " does not exist");
        }
        return status;
    }

    @Override
    public FileStatus[] list(Path path) throws IOException {
        return concerns(path) ? driver.list(name(path)) : below.listStatus(path);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return driver.mkdirs(name(path), permission);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return driver.delete(name(path), recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return driver.rename(name(from), name(to));
    }

    @Override
    public boolean setPermission(Path path, FsPermission permission) throws IOException {
        return driver.setPermission(name(path), permission);
    }
}
