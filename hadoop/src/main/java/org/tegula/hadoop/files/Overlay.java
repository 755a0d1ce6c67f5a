package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** A file system's files and those that are in memory alone, as one; its calls mean what those of {@link FileSystem} mean. */
interface Overlay {
    /** Whether anything at or below a path is in memory alone, or would be if it were written. */
    boolean concerns(Path path) throws IOException;

    /** Puts the files in memory at and below a path into the file system below. */
    void writeToDisk(Path path) throws IOException;

    /** Opens a file in memory; null if it is in the file system below. */
    FSInputStream open(Path path, FileSystem.Statistics statistics) throws IOException;

    /** Creates a file in memory, in a folder that is there unless it is to be made; null if it belongs into the file system below. */
    OutputStream create(Path path, FsPermission permission, boolean makesFolder) throws IOException;

    /** Whether {@link #create} would create the file in memory. */
    boolean wouldHold(Path path) throws IOException;

    boolean exists(Path path) throws IOException;

    FileStatus status(Path path) throws IOException;

    FileStatus[] list(Path path) throws IOException;

    /** The permission may be null, for that of the file system. */
    boolean mkdirs(Path path, FsPermission permission) throws IOException;

    boolean delete(Path path, boolean recursive) throws IOException;

    boolean rename(Path from, Path to) throws IOException;

    /** Returns false if there is nothing of the path in memory: then it is to be set in the file system below. */
    boolean setPermission(Path path, FsPermission permission) throws IOException;
}
