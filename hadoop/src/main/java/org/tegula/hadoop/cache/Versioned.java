package org.tegula.hadoop.cache;

import java.io.IOException;
import org.apache.hadoop.fs.Path;

/** A file system that knows files which are not on the disk. */
public interface Versioned {
    /**
     * The version of a file that is not on the disk.
     *
     * @param path its name
     * @return null if it is on the disk, or nowhere
     * @throws IOException if the path is of another file system
     */
    FileVersion version(Path path) throws IOException;

    /**
     * Returns the pairs of a file that exists only as pairs.
     *
     * @param path its name
     * @return null if it is on the disk, or nowhere, or has bytes only
     * @throws IOException if the path is of another file system
     */
    SequencePairs pairs(Path path) throws IOException;
}
