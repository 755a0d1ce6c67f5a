package org.tegula.hadoop.server;

import java.io.IOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.mapreduce.protocol.ClientProtocol;
import org.apache.hadoop.security.token.TokenInfo;

/** The calls of a client to a server over Hadoop's RPC: those of Hadoop's client to a cluster, and a few more. */
@TokenInfo(ServerToken.Selector.class)
public interface ServerProtocol extends ClientProtocol {
    /** The version of the calls added to Hadoop's protocol. */
    long versionID = 1;

    /**
     * Renews the client's lease, as every other call does.
     *
     * @return how many jobs would be killed if it were not
     * @throws IOException if the server does not answer
     */
    int stillHere() throws IOException;

    /**
     * Returns the data that the server keeps from job to job.
     *
     * @return an entry for each file and user
     * @throws IOException if the server does not answer
     */
    KeptFile[] kept() throws IOException;

    /**
     * Drops the kept pairs of a file, or of the files of a folder. Files in memory alone are put on the disk first.
     *
     * @param path an absolute name or URI, or an empty text for all
     * @throws IOException if the disk does not take it
     */
    void drop(String path) throws IOException;

    /**
     * Whether anything at or below a path is in memory alone, or would be if it were written by a job.
     *
     * @param path a qualified name
     * @return false if the disk says all about it
     * @throws IOException if the path is of another file system
     */
    boolean holds(String path) throws IOException;

    /**
     * The status of a file or folder, in memory or on the disk.
     *
     * @param path a qualified name
     * @return null if there is none
     * @throws IOException if the disk does not say
     */
    FileStatus heldStatus(String path) throws IOException;

    /**
     * Returns the contents of a folder, in memory or on the disk.
     *
     * @param path a qualified name
     * @return an entry for each
     * @throws IOException if there is no such folder
     */
    FileStatus[] listHeld(String path) throws IOException;

    /**
     * Deletes a file or folder, in memory and on the disk.
     *
     * @param path a qualified name
     * @param recursive whether with all that is in it
     * @return false if there was none
     * @throws IOException if the disk refuses
     */
    boolean deleteHeld(String path, boolean recursive) throws IOException;

    /**
     * Renames a file or folder, in memory and on the disk.
     *
     * @param from a qualified name
     * @param to a qualified name
     * @return false if it stays as it is
     * @throws IOException if the disk refuses
     */
    boolean renameHeld(String from, String to) throws IOException;

    /**
     * Puts the files in memory at and below a path on the disk.
     *
     * @param path a qualified name
     * @throws IOException if the disk does not take it
     */
    void writeHeld(String path) throws IOException;
}
