package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.util.EnumSet;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.ContentSummary;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.QuotaUsage;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.impl.OpenFileParameters;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.LambdaUtils;
import org.apache.hadoop.util.Progressable;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.util.functional.RemoteIterators;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.cache.Versioned;

/**
 * Any of Hadoop's file systems, such as HDFS, which also has the files that jobs have left in memory alone. As
 * {@code fs.hdfs.impl} it serves all of a program's calls; the file system below is the one that Hadoop finds for the scheme
 * without that setting. What is in memory is seen by the user who has written it, as all others would have to be checked for
 * the file system's own permissions.
 */
public final class CachedFileSystem extends PassingFileSystem implements PairFiles, Versioned {
    private static final Logger LOG = LoggerFactory.getLogger(CachedFileSystem.class);

    /** For each file system and user. */
    private static final Map<String, HeldTree> TREES = new ConcurrentHashMap<>();

    private HeldFiles held;
    private Overlay overlay;

    /** Made by Hadoop. */
    public CachedFileSystem() {}

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        fs = open(uri, conf);
        super.initialize(uri, conf);
        HeldTree tree = TREES.computeIfAbsent(
                UserGroupInformation.getCurrentUser().getShortUserName() + "@" + fs.getUri(), key -> new HeldTree());
        held = new HeldFiles(this, new RemoteBelow(fs), tree, () -> keeper(uri, conf), conf);
        overlay = overlay(conf);
    }

    private Overlay overlay(Configuration conf) throws IOException {
        if (PlaceFileSystem.isWanted()) {
            return PlaceFileSystem.overlay(this, fs);
        }
        return conf.getTrimmed(Settings.SERVER_ADDRESS, "").isEmpty() ? held : new ServedOverlay(fs, conf);
    }

    HeldFiles held() {
        return held;
    }

    /** A file system that is not in Hadoop's cache, and so is closed by its user alone. */
    private static FileSystem open(URI uri, Configuration conf) throws IOException {
        Configuration below = new Configuration(conf);
        below.unset("fs." + uri.getScheme() + ".impl");
        FileSystem files = ReflectionUtils.newInstance(FileSystem.getFileSystemClass(uri.getScheme(), below), below);
        files.initialize(uri, below);
        return files;
    }

    /** Looks after files in memory when the job that has written them, and its file systems, have ended. */
    private static HeldFiles keeper(URI uri, Configuration conf) throws IOException {
        Configuration here = new Configuration(conf);
        here.unset(Settings.SERVER_ADDRESS);
        CachedFileSystem files = new CachedFileSystem();
        files.initialize(uri, here);
        return files.held;
    }

    @Override
    public void close() throws IOException {
        super.close();
        if (overlay instanceof ServedOverlay served) {
            served.close();
        }
    }

    @Override
    public String getScheme() {
        return fs.getScheme();
    }

    @Override
    Path below(Path path) throws IOException {
        overlay.writeToDisk(path);
        return path;
    }

    @Override
    public FileVersion version(Path path) throws IOException {
        return overlay instanceof PlaceOverlay place ? place.version(path) : held.version(path);
    }

    @Override
    public SequencePairs pairs(Path path) throws IOException {
        return overlay instanceof PlaceOverlay place ? place.pairs(path) : held.pairs(path);
    }

    /**
     * Whether the file system below does not say all about a path.
     *
     * @param path any path of this file system
     * @return true if anything at or below it is in memory alone, or would be if it were written
     * @throws IOException if the file system below fails
     */
    public boolean concerns(Path path) throws IOException {
        return overlay.concerns(path);
    }

    /**
     * Puts the files in memory at and below a path into the file system below.
     *
     * @param path that nothing need be held of
     * @throws IOException if the file system does not take it
     */
    public void writeToDisk(Path path) throws IOException {
        overlay.writeToDisk(path);
    }

    /**
     * The files of this JVM that are in memory alone, over all file systems and users.
     *
     * @return their sizes by their URIs
     */
    public static Map<String, Long> sizes() {
        Map<String, Long> all = new TreeMap<>();
        TREES.values().forEach(tree -> all.putAll(tree.sizes()));
        return all;
    }

    /**
     * Puts everything in memory, over all file systems and users, into the file systems below.
     *
     * @throws IOException if some of it cannot be written; all else is
     */
    public static void writeAllToDisk() throws IOException {
        FirstFault faults = new FirstFault();
        for (HeldTree each : TREES.values()) {
            faults.attempt(each::writeAllToDisk);
        }
        faults.rethrow();
    }

    @Override
    public boolean hold(Path folder) throws IOException {
        return overlay == held && held.hold(folder);
    }

    @Override
    public SequencePairsWriter createPairs(Path file, SequencePairsWriter.Types types) throws IOException {
        if (overlay instanceof PlaceOverlay place) {
            return place.createPairs(file, types);
        }
        return overlay == held && types.areWritables() ? held.createPairs(file, types) : null;
    }

    @Override
    public void countPairs(long fileBytes) {
        statistics.incrementBytesWritten(fileBytes);
    }

    @Override
    public FileSystem getRawCache() {
        return new RawCache(this, held);
    }

    @Override
    public RecordReader<Writable, Writable> getCacheRecordReader(Path file) throws IOException {
        return KeptPairsReader.of(this, held, file);
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        FSInputStream input = overlay.open(path, statistics);
        return input == null ? fs.open(path, bufferSize) : new FSDataInputStream(input);
    }

    @Override
    public FutureDataInputStreamBuilder openFile(Path path) throws IOException {
        return overlay.concerns(path) ? createDataInputStreamBuilder(this, path) : fs.openFile(path);
    }

    @Override
    protected CompletableFuture<FSDataInputStream> openFileWithOptions(Path path, OpenFileParameters parameters)
            throws IOException {
        return LambdaUtils.eval(new CompletableFuture<>(), () -> open(path, parameters.getBufferSize()));
    }

    /** Null if the file belongs into the file system below. */
    private FSDataOutputStream createInMemory(
            Path path, FsPermission permission, boolean overwrite, boolean makesFolder) throws IOException {
        if (overlay.wouldHold(path)
                && overlay.exists(path)
                && (!overwrite || overlay.status(path).isDirectory())) {
            throw new FileAlreadyExistsException(path + " already exists");
        }
        OutputStream output = overlay.create(path, permission, makesFolder);
        return output == null ? null : new FSDataOutputStream(output, statistics);
    }

    @Override
    public FSDataOutputStream create(
            Path path,
            FsPermission permission,
            boolean overwrite,
            int bufferSize,
            short replication,
            long blockSize,
            Progressable progress)
            throws IOException {
        FSDataOutputStream output = createInMemory(path, permission, overwrite, true);
        return output == null
                ? fs.create(path, permission, overwrite, bufferSize, replication, blockSize, progress)
                : output;
    }

    @Override
    public FSDataOutputStream create(
            Path path,
            FsPermission permission,
            EnumSet<CreateFlag> flags,
            int bufferSize,
            short replication,
            long blockSize,
            Progressable progress,
            Options.ChecksumOpt checksum)
            throws IOException {
        FSDataOutputStream output = flags.contains(CreateFlag.APPEND)
                ? null
                : createInMemory(path, permission, flags.contains(CreateFlag.OVERWRITE), true);
        return output == null
                ? fs.create(below(path), permission, flags, bufferSize, replication, blockSize, progress, checksum)
                : output;
    }

    @Override
    public FSDataOutputStream createNonRecursive(
            Path path,
            FsPermission permission,
            EnumSet<CreateFlag> flags,
            int bufferSize,
            short replication,
            long blockSize,
            Progressable progress)
            throws IOException {
        FSDataOutputStream output = flags.contains(CreateFlag.APPEND)
                ? null
                : createInMemory(path, permission, flags.contains(CreateFlag.OVERWRITE), false);
        return output == null
                ? fs.createNonRecursive(below(path), permission, flags, bufferSize, replication, blockSize, progress)
                : output;
    }

    @Override
    public FSDataOutputStreamBuilder<?, ?> createFile(Path path) {
        try {
            if (!overlay.concerns(path)) {
                return fs.createFile(path);
            }
        } catch (IOException e) {
            LOG.debug("The file's builder will report the fault of {}", path, e);
        }
        return createDataOutputStreamBuilder(this, path).create().overwrite(true);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return overlay.exists(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return overlay.status(path);
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return overlay.concerns(path) ? overlay.status(path) : fs.getFileLinkStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return overlay.list(path);
    }

    @Override
    public RemoteIterator<FileStatus> listStatusIterator(Path path) throws IOException {
        return overlay.concerns(path)
                ? RemoteIterators.remoteIteratorFromArray(listStatus(path))
                : fs.listStatusIterator(path);
    }

    @Override
    public RemoteIterator<LocatedFileStatus> listLocatedStatus(Path path) throws IOException {
        return overlay.concerns(path)
                ? RemoteIterators.mappingRemoteIterator(
                        RemoteIterators.remoteIteratorFromArray(listStatus(path)), this::located)
                : fs.listLocatedStatus(path);
    }

    private LocatedFileStatus located(FileStatus status) throws IOException {
        return new LocatedFileStatus(
                status, status.isFile() ? getFileBlockLocations(status, 0, status.getLen()) : null);
    }

    /** A file in memory is on this machine. */
    @Override
    public BlockLocation[] getFileBlockLocations(FileStatus status, long start, long length) throws IOException {
        if (status == null || !overlay.concerns(status.getPath())) {
            return fs.getFileBlockLocations(status, start, length);
        }
        if (start >= status.getLen()) {
            return new BlockLocation[0];
        }
        String[] here = {"localhost"};
        return new BlockLocation[] {new BlockLocation(here, here, 0, status.getLen())};
    }

    @Override
    public ContentSummary getContentSummary(Path path) throws IOException {
        return overlay.concerns(path) ? super.getContentSummary(path) : fs.getContentSummary(path);
    }

    @Override
    public QuotaUsage getQuotaUsage(Path path) throws IOException {
        return overlay.concerns(path) ? super.getQuotaUsage(path) : fs.getQuotaUsage(path);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return overlay.mkdirs(path, permission);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        return overlay.mkdirs(path, null);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return overlay.delete(path, recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return overlay.rename(from, to);
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        if (!overlay.setPermission(path, permission)) {
            fs.setPermission(path, permission);
        }
    }
}
