package org.tegula.hadoop.api;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordReader;

/**
 * A file system of which the engine keeps decoded pairs and files from job to job. A program finds out by
 * {@code instanceof} whether the file system that Hadoop gives it is one.
 */
public interface CacheFS {
    /**
     * What is kept, without the file system: it shows files and folders of which something is in memory, and to delete
     * one there drops what is kept and leaves the disk alone. What is in memory only is gone then.
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
