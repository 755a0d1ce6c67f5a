package org.tegula.hadoop.server;

import java.io.IOException;
import org.apache.hadoop.mapreduce.protocol.ClientProtocol;
import org.apache.hadoop.security.token.TokenInfo;

/** What a client asks of a server over Hadoop's RPC: all that Hadoop's client asks of a cluster, and a little more. */
@TokenInfo(ServerToken.Selector.class)
public interface ServerProtocol extends ClientProtocol {
    /** The version of what is added to Hadoop's protocol. */
    long versionID = 1;

    /**
     * Says that the client is still there, as every other call does.
     *
     * @return how many jobs would be killed if it were not
     * @throws IOException if the server does not answer
     */
    int stillHere() throws IOException;

    /**
     * What the server keeps from job to job.
     *
     * @return an entry for each file and user
     * @throws IOException if the server does not answer
     */
    KeptFile[] kept() throws IOException;

    /**
     * Drops what is kept of a file, or of the files of a folder. What is in memory alone is put on the disk first.
     *
     * @param path an absolute name or URI, or an empty text for all
     * @throws IOException if the disk does not take it
     */
    void drop(String path) throws IOException;
}
