package org.tegula.hadoop.files;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.security.UserGroupInformation;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.api.CacheFS;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairBlock;

/**
 * Hadoop's local file system, which also has the files that jobs have left in memory alone. As {@code fs.file.impl} it
 * serves all of a program's calls.
 */
public final class CachedLocalFileSystem extends LocalFileSystem implements CacheFS {
    private final HeldFileSystem held;

    /** Made by Hadoop. */
    public CachedLocalFileSystem() {
        this(new HeldFileSystem());
    }

    private CachedLocalFileSystem(HeldFileSystem held) {
        super(held);
        this.held = held;
    }

    /** For a client of a server, it is the server that has such files. */
    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        held.initialize(uri, conf);
        if (!conf.getTrimmed(Settings.SERVER_ADDRESS, "").isEmpty()) {
            fs = new ServedFileSystem();
            fs.initialize(uri, conf);
        }
        super.initialize(uri, conf);
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

    @Override
    public FileSystem getRawCache() {
        return new RawCache(this, held, held.cache());
    }

    @Override
    public RecordReader<Writable, Writable> getCacheRecordReader(Path file) throws IOException {
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        String name = held.cacheName(file);
        List<PairBlock> blocks = held.cache().findAll(user, name, FileVersion.of(this, file), getConf());
        return blocks.isEmpty() ? null : new KeptPairsReader(blocks, getConf());
    }
}
