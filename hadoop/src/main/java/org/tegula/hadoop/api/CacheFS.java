package org.tegula.hadoop.api;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordReader;

/**
 * A file system whose decoded pairs and files the engine keeps from job to job. A program finds out by {@code instanceof}
 * whether the file system that Hadoop gives it is one.
 */
public interface CacheFS {
    /**
     * Returns the kept data alone, as a file system: it shows the files and folders that are in memory, in whole or in part.
     * Deleting one there drops the data in memory and leaves the disk alone. Data in memory only is gone then.
     *
     * @return a file system that can be listed, read and deleted from, and nothing else
     */
    FileSystem getRawCache();

    /**
     * The pairs of a file as jobs have decoded them.
     *
     * @param file whose pairs are wanted
     * @return null unless all pairs of the file as it is now are kept; else a reader, already initialised, each pair of
     *     which has objects of its own
     * @throws IOException if there is no such file
     */
    RecordReader<Writable, Writable> getCacheRecordReader(Path file) throws IOException;
}
