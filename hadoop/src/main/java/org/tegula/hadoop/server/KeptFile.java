package org.tegula.hadoop.server;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;

/** The kept data of one file, as it goes over the wire. */
public final class KeptFile implements Writable {
    private static final int MOST_NAME_BYTES = 1 << 20;

    private String path = "";
    private String user = "";
    private long pairs;
    private long bytes;

    /** To be read into. */
    public KeptFile() {}

    /**
     * All of it.
     *
     * @param path of the file, with its file system
     * @param user whose jobs may use it; empty for all
     * @param pairs how many decoded pairs; 0 for a file that is in memory alone, as the bytes that it has
     * @param bytes that are taken
     */
    public KeptFile(String path, String user, long pairs, long bytes) {
        this.path = path;
        this.user = user;
        this.pairs = pairs;
        this.bytes = bytes;
    }

    /**
     * Which file.
     *
     * @return its name, with its file system
     */
    public String path() {
        return path;
    }

    /**
     * Whose jobs may use it.
     *
     * @return empty for all
     */
    public String user() {
        return user;
    }

    /**
     * How many decoded pairs are kept.
     *
     * @return 0 if the file itself is
     */
    public long pairs() {
        return pairs;
    }

    /**
     * How much memory is taken.
     *
     * @return bytes
     */
    public long bytes() {
        return bytes;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        Text.writeString(out, path);
        Text.writeString(out, user);
        out.writeLong(pairs);
        out.writeLong(bytes);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        path = Text.readString(in, MOST_NAME_BYTES);
        user = Text.readString(in, MOST_NAME_BYTES);
        pairs = in.readLong();
        bytes = in.readLong();
    }
}
