package org.tegula.hadoop.files;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.tegula.hadoop.api.CacheFS;
import org.tegula.hadoop.cache.SequencePairsWriter;

/** A file system in which the engine keeps outputs of jobs in memory alone. */
public interface PairFiles extends CacheFS {
    /**
     * Keeps everything that is created at or below a folder in memory, from now on until it is deleted.
     *
     * @param folder that is not there yet
     * @return false if it is there, or the cache is off, or a server is to keep it
     * @throws IOException if the folder that it is in cannot be made
     */
    boolean hold(Path folder) throws IOException;

    /**
     * Creates a sequence file that is kept in memory as its pairs. There are no checksums of it, for nothing lies between
     * those who write and those who read.
     *
     * @param file where nothing is yet
     * @param types of the pairs
     * @return null if the file would not be kept in memory, or as bytes only
     * @throws IOException if its folder cannot be made
     */
    SequencePairsWriter createPairs(Path file, SequencePairsWriter.Types types) throws IOException;

    /**
     * Counts a file that was kept as pairs like what the file system would have written of it: the size of a job's output does
     * not depend on where it is kept.
     *
     * @param fileBytes the length of the file
     */
    void countPairs(long fileBytes);
}
