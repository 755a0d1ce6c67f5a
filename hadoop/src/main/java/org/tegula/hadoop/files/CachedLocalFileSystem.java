package org.tegula.hadoop.files;

import java.io.IOException;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Hadoop's local file system, which also has the files that jobs have left in memory alone. As {@code fs.file.impl} it
 * serves all of a program's calls.
 */
public final class CachedLocalFileSystem extends LocalFileSystem {
    private final HeldFileSystem held;

    /** Made by Hadoop. */
    public CachedLocalFileSystem() {
        this(new HeldFileSystem());
    }

    private CachedLocalFileSystem(HeldFileSystem held) {
        super(held);
        this.held = held;
    }

    /**
     * Keeps everything that is created at or below a folder in memory, from now on until it is deleted.
     *
     * @param folder that is not there yet
     * @return false if it is there, or nothing is to be kept
     * @throws IOException if the folder that it is in cannot be made
     */
    public boolean hold(Path folder) throws IOException {
        return held.hold(folder);
    }
}
