package org.tegula.hadoop.files;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.Progressable;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.api.CacheFS;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairBlock;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;

/**
 * Hadoop's local file system, which also has the files that jobs have left in memory alone. As {@code fs.file.impl} it
 * serves all of a program's calls.
 */
public final class CachedLocalFileSystem extends LocalFileSystem implements CacheFS {
    private final HeldFileSystem held;
    private boolean hasChecksums = true;

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

    @Override
    public void setWriteChecksum(boolean writes) {
        super.setWriteChecksum(writes);
        hasChecksums = writes;
    }

    @Override
    public FSDataOutputStream create(
            Path file,
            FsPermission permission,
            boolean overwrite,
            int bufferBytes,
            short replication,
            long blockBytes,
            Progressable progress)
            throws IOException {
        if (!hasChecksums) {
            return super.create(file, permission, overwrite, bufferBytes, replication, blockBytes, progress);
        }
        Path folder = file.getParent();
        if (folder != null && !mkdirs(folder)) {
            throw new IOException("Mkdirs failed to create " + folder + " (exists=" + exists(folder) + ", cwd="
                    + getWorkingDirectory() + ")");
        }
        FSDataOutputStream data =
                fs.create(file, permission, overwrite, bufferBytes, replication, blockBytes, progress);
        try {
            FSDataOutputStream sums =
                    fs.create(getChecksumFile(file), permission, true, bufferBytes, replication, blockBytes, null);
            return new FSDataOutputStream(new ChecksummedOutput(data, sums, getBytesPerSum()), null);
        } catch (IOException | RuntimeException e) {
            IOUtils.closeStream(data);
            throw e;
        }
    }

    /**
     * Keeps everything that is created at or below a folder in memory, from now on until it is deleted.
     *
     * @param folder that is not there yet
     * @return false if it is there, or the cache is off
     * @throws IOException if the folder that it is in cannot be made
     */
    public boolean hold(Path folder) throws IOException {
        return held.hold(folder);
    }

    /**
     * Creates a sequence file that is kept in memory as its pairs. There are no checksums of it, for nothing lies between
     * those who write and those who read.
     *
     * @param file where nothing is yet
     * @param types of the pairs
     * @return null if the file would not be kept in memory, or as bytes only
     * @throws IOException if its folder cannot be made
     */
    public SequencePairsWriter createPairs(Path file, SequencePairsWriter.Types types) throws IOException {
        return fs == held && types.areWritables() ? held.createPairs(file, types) : null;
    }

    /**
     * Counts a file that was kept as pairs like its bytes and checksums: the size of a job's output does not depend on where it
     * is kept.
     *
     * @param fileBytes the length of the file
     */
    public void countPairs(long fileBytes) {
        held.countWritten(fileBytes + getChecksumLength(fileBytes, getBytesPerSum()));
    }

    @Override
    public FileSystem getRawCache() {
        return new RawCache(this, held, held.cache());
    }

    @Override
    public RecordReader<Writable, Writable> getCacheRecordReader(Path file) throws IOException {
        SequencePairs pairs = held.pairs(file);
        PairBlock all = pairs == null ? null : pairs.find(0, pairs.length(), getConf());
        if (all != null) {
            return new KeptPairsReader(List.of(all), getConf());
        }
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        String name = held.cacheName(file);
        List<PairBlock> blocks = held.cache().findAll(user, name, FileVersion.of(this, file), getConf());
        return blocks.isEmpty() ? null : new KeptPairsReader(blocks, getConf());
    }
}
