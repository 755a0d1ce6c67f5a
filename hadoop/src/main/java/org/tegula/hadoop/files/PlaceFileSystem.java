package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.cache.Versioned;

/** The local disk as a place sees it: with the outputs that its engine has in memory alone. */
public final class PlaceFileSystem extends OverlaidDisk implements Versioned {
    private static volatile DriverFiles driver;

    private PlaceOverlay place;

    PlaceFileSystem() {}

    /**
     * Makes this JVM a place: its file systems that have files in memory ask the driver from now on.
     *
     * @param files of the driver
     */
    public static void ask(DriverFiles files) {
        driver = files;
    }

    /** Whether this JVM is a place. */
    static boolean isWanted() {
        return driver != null;
    }

    /** The view of a place on its driver's files, over any file system. */
    static PlaceOverlay overlay(FileSystem whole, FileSystem below) {
        return new PlaceOverlay(whole, below, driver);
    }

    @Override
    Overlay overlay(LocalDisk disk, Configuration conf) {
        place = overlay(this, disk);
        return place;
    }

    @Override
    public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
        overlay().open(path, statistics);
        return super.open(path, bufferBytes);
    }

    @Override
    protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
            throws IOException {
        overlay().create(path, permission, false);
        return super.createOutputStreamWithMode(path, append, permission);
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        if (!overlay().setPermission(path, permission)) {
            super.setPermission(path, permission);
        }
    }

    @Override
    public FileVersion version(Path path) throws IOException {
        return place.version(path);
    }

    @Override
    public SequencePairs pairs(Path path) throws IOException {
        return place.pairs(path);
    }

    /** Creates a sequence file as pairs in the memory of this place; null if it is to be written to the disk. */
    SequencePairsWriter createPairs(Path path, SequencePairsWriter.Types types) throws IOException {
        return place.createPairs(path, types);
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return getFileStatus(path);
    }
}
