package org.tegula.hadoop.files;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.util.Progressable;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.SequencePairsWriter;

/**
 * Hadoop's local file system, which also has the files that jobs have left in memory alone. As {@code fs.file.impl} it
 * serves all of a program's calls.
 */
public final class CachedLocalFileSystem extends LocalFileSystem implements PairFiles {
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
        if (PlaceFileSystem.isWanted()) {
            fs = new PlaceFileSystem();
            fs.initialize(uri, conf);
        } else if (!conf.getTrimmed(Settings.SERVER_ADDRESS, "").isEmpty()) {
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

    @Override
    public boolean hold(Path folder) throws IOException {
        return held.held().hold(folder);
    }

    @Override
    public SequencePairsWriter createPairs(Path file, SequencePairsWriter.Types types) throws IOException {
        if (fs instanceof PlaceFileSystem place) {
            return place.createPairs(file, types);
        }
        return fs == held && types.areWritables() ? held.held().createPairs(file, types) : null;
    }

    /** With the checksums, which are a file of their own on the disk. */
    @Override
    public void countPairs(long fileBytes) {
        held.countWritten(fileBytes + getChecksumLength(fileBytes, getBytesPerSum()));
    }

    @Override
    public FileSystem getRawCache() {
        return new RawCache(this, held.held());
    }

    @Override
    public RecordReader<Writable, Writable> getCacheRecordReader(Path file) throws IOException {
        return KeptPairsReader.of(this, held.held(), file);
    }
}
