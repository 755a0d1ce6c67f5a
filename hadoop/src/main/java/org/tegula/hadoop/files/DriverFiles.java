package org.tegula.hadoop.files;

import java.io.IOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;

/**
 * File systems with the outputs that are in memory alone, for a JVM that is a place of an engine elsewhere. The driver has
 * their names; the pairs of a file are at the place that has written them. Paths are qualified names.
 */
public interface DriverFiles {
    /**
     * Whether anything at or below a path is in memory alone, or would be if it were written.
     *
     * @param path any
     * @return false if the disk says all about it
     * @throws IOException if the driver does not answer
     */
    boolean concerns(String path) throws IOException;

    /**
     * The status of a file or folder.
     *
     * @param path any
     * @return null if there is none
     * @throws IOException if the driver does not answer
     */
    FileStatus status(String path) throws IOException;

    /**
     * Returns the contents of a folder.
     *
     * @param path any
     * @return an entry for each
     * @throws IOException if there is no such folder
     */
    FileStatus[] list(String path) throws IOException;

    /**
     * Makes a folder.
     *
     * @param path any
     * @param permission null for the file system's own
     * @return false if it cannot be made
     * @throws IOException if something else has its name
     */
    boolean mkdirs(String path, FsPermission permission) throws IOException;

    /**
     * Deletes a file or folder.
     *
     * @param path any
     * @param recursive whether with all that is in it
     * @return false if there was none
     * @throws IOException if it is refused
     */
    boolean delete(String path, boolean recursive) throws IOException;

    /**
     * Renames a file or folder.
     *
     * @param from its name
     * @param to its new name
     * @return false if it stays as it is
     * @throws IOException if it is refused
     */
    boolean rename(String from, String to) throws IOException;

    /**
     * Sets the permission of what is in memory.
     *
     * @param path any
     * @param permission the new one
     * @return false if there is nothing of the path in memory
     * @throws IOException if the driver does not answer
     */
    boolean setPermission(String path, FsPermission permission) throws IOException;

    /**
     * Puts the files in memory at and below a path on the disk.
     *
     * @param path any
     * @throws IOException if the disk does not take it, or a place that had some of it is lost
     */
    void writeToDisk(String path) throws IOException;

    /**
     * Whether a file would be in memory alone.
     *
     * @param path of a file that is not there yet
     * @return false if it belongs to the disk
     * @throws IOException if the driver does not answer
     */
    boolean wouldHold(String path) throws IOException;

    /**
     * Adds a file whose pairs are in memory here.
     *
     * @param path where nothing is yet
     * @param pairs all of the file
     * @param home the slot where they were made
     * @return false if there is no room for its name: the caller keeps the pairs
     * @throws IOException if its folder cannot be made
     */
    boolean add(String path, SequencePairs pairs, int home) throws IOException;

    /**
     * Returns the pairs of a file that are in memory here.
     *
     * @param path of a file
     * @return null if they are elsewhere
     * @throws IOException if the driver does not answer
     */
    SequencePairs pairs(String path) throws IOException;

    /**
     * The version of a file that is in memory alone.
     *
     * @param path of a file
     * @return null if it is on the disk, or nowhere
     * @throws IOException if the driver does not answer
     */
    FileVersion version(String path) throws IOException;
}
