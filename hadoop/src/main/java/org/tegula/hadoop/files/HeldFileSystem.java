package org.tegula.hadoop.files;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.cache.Versioned;
import org.tegula.hadoop.memory.NoRoomException;

/**
 * The local disk with some files that are in memory alone. They are visible to all of Hadoop's calls. Calls other than names,
 * listings, reading and writing, and requests for a {@link File}, put them on the disk first.
 */
public final class HeldFileSystem extends LocalDisk implements Versioned {
    private static final Logger LOG = LoggerFactory.getLogger(HeldFileSystem.class);
    static final int BUFFER_BYTES = 1 << 16;
    /** Before Hadoop closes its file systems. */
    private static final int SHUTDOWN_PRIORITY = 15;

    private static final HeldTree HELD = new HeldTree();
    private static final long LOOK_MILLIS = 1000;
    private static boolean hooked;

    private final LocalDisk disk = new LocalDisk();
    private PairCache cache;
    private long keepNanos;

    /** Made by Hadoop. */
    public HeldFileSystem() {}

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        disk.initialize(uri, conf);
        cache = PairCache.shared(conf);
        long seconds = conf.getLong(Settings.TEMPORARY_SECONDS, Settings.TEMPORARY_SECONDS_DEFAULT);
        keepNanos = seconds == 0 ? Long.MAX_VALUE : TimeUnit.SECONDS.toNanos(seconds);
    }

    /**
     * Keeps everything that is created at or below a folder in memory, from now on until it is deleted.
     *
     * @param folder that is not there yet
     * @return false if it is there, or the cache is off
     * @throws IOException if the folder that it is in cannot be made
     */
    public boolean hold(Path folder) throws IOException {
        if (!cache.isOn() || exists(folder)) {
            return false;
        }
        mkdirs(folder.getParent());
        String name = nameOnDisk(folder);
        if (!HELD.isClaimed(name)) {
            HELD.claim(name);
            writeAtExit(this);
        }
        return true;
    }

    private static synchronized void writeAtExit(HeldFileSystem files) {
        if (!hooked) {
            hooked = true;
            ShutdownHookManager.get().addShutdownHook(files::writeAllToDisk, SHUTDOWN_PRIORITY);
            Thread flusher = new Thread(files::writeIdleToDisk, "tegula-temporary-outputs");
            flusher.setDaemon(true);
            flusher.start();
        }
    }

    /** Puts idle files on the disk from time to time, because a killed JVM loses the rest. */
    private void writeIdleToDisk() {
        try {
            while (true) {
                Thread.sleep(LOOK_MILLIS);
                for (String name : HELD.idle()) {
                    HeldFile file = HELD.at(name);
                    if (file != null) {
                        writeIdleToDisk(name, file);
                    }
                }
            }
        } catch (InterruptedException e) {
            LOG.warn("From now on, files in memory are written to the disk at the end only", e);
        }
    }

    private void writeIdleToDisk(String name, HeldFile file) {
        try {
            writeToDisk(name, file);
        } catch (IOException | RuntimeException e) {
            LOG.error("{} was kept in memory and cannot be written: it stays there, and is tried again", name, e);
            file.touch();
        }
    }

    /** Puts everything on the disk: files that were not deleted may still be needed after the JVM's end. */
    public void writeAllToDisk() {
        for (String root : HELD.roots()) {
            try {
                HELD.at(root);
                writeToDisk(root);
            } catch (IOException e) {
                LOG.error("{} was kept in memory and cannot be written: it is lost", root, e);
            }
        }
    }

    /**
     * The files of this JVM that are in memory alone.
     *
     * @return their sizes by their names on the disk
     */
    public static Map<String, Long> sizes() {
        return HELD.sizes();
    }

    /**
     * Puts the files in memory at and below a path on the disk.
     *
     * @param path that nothing need be held of
     * @throws IOException if the disk does not take it
     */
    public void writeToDisk(Path path) throws IOException {
        String name = held(path);
        if (name != null) {
            writeToDisk(name);
        }
    }

    PairCache cache() {
        return cache;
    }

    /** Whether anything at or below a path is in memory alone. */
    boolean holds(Path path) throws IOException {
        String name = held(path);
        return name != null && isHeld(name);
    }

    /**
     * Whether the disk alone does not say all about a path.
     *
     * @param path any path
     * @return true if anything at or below it is in memory alone, or would be if it were written
     * @throws IOException if the path is of another file system
     */
    public boolean concerns(Path path) throws IOException {
        String name = held(path);
        return name != null && (isHeld(name) || HELD.isClaimed(name));
    }

    /** Drops the files in memory at and below a path. */
    void drop(Path path) throws IOException {
        String name = held(path);
        if (name != null) {
            HELD.removeAll(name);
        }
    }

    /** The name of a path in the cache; one that comes from a URI may end in a slash. */
    String cacheName(Path path) {
        String name = makeQualified(path).toString();
        return name.endsWith("/") ? name.substring(0, name.length() - 1) : name;
    }

    /** The name by which a path would be held, if anything is: absolute, and where links on the disk lead. */
    private String held(Path path) throws IOException {
        return HELD.isEmpty() ? null : nameOnDisk(path);
    }

    private String nameOnDisk(Path path) throws IOException {
        File file = disk.pathToFile(path);
        File folder = file.getParentFile();
        return folder == null ? file.getPath() : new File(folder.getCanonicalFile(), file.getName()).getPath();
    }

    private HeldFile find(Path path) throws IOException {
        String name = held(path);
        return name == null ? null : HELD.at(name);
    }

    private static Path path(String name) {
        return new Path(new Path("file:///"), new Path(null, null, name));
    }

    @Override
    public FileVersion version(Path path) throws IOException {
        HeldFile file = find(path);
        return file == null || file.isFolder() || !file.isComplete() ? null : file.version();
    }

    @Override
    public SequencePairs pairs(Path path) throws IOException {
        HeldFile file = find(path);
        SequencePairs pairs = file == null ? null : file.pairs();
        if (pairs != null) {
            file.touch();
        }
        return pairs;
    }

    /** Returns a file of the disk, after writing it there if it is in memory. */
    @Override
    public File pathToFile(Path path) {
        try {
            writeToDisk(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return super.pathToFile(path);
    }

    /** Moves the held files at or below a name to the disk. */
    private void writeToDisk(String name) throws IOException {
        for (String each : HELD.under(name)) {
            HeldFile file = HELD.at(each);
            if (file != null && file.isFolder()) {
                disk.mkdirs(path(each));
                continue;
            }
            while (file != null && file.isComplete() && !writeToDisk(each, file)) {
                file = HELD.at(each);
            }
        }
    }

    /** Moves a file to the disk; false if it is not there any more, or another has its name. */
    private boolean writeToDisk(String name, HeldFile file) throws IOException {
        Path target = path(name);
        Path half = new Path(target.getParent(), "." + target.getName() + ".tegula-" + System.nanoTime());
        try (OutputStream out = createOnDisk(half, file.permission())) {
            file.writeTo(out);
        } catch (IOException | RuntimeException e) {
            disk.delete(half, false);
            throw e;
        }
        disk.setTimes(half, file.modifiedMillis(), -1);
        synchronized (HELD) { // a file that has replaced this one must not be replaced by it
            if (HELD.at(name) != file) {
                disk.delete(half, false);
                return false;
            }
            Files.move(
                    disk.pathToFile(half).toPath(), disk.pathToFile(target).toPath(), StandardCopyOption.ATOMIC_MOVE);
            HELD.take(name, file);
        }
        file.release();
        return true;
    }

    private OutputStream createOnDisk(Path path, FsPermission permission) throws IOException {
        return disk.create(path, permission, true, BUFFER_BYTES, (short) 1, disk.getDefaultBlockSize(path), null);
    }

    /** Continues a file on the disk that was begun in memory. */
    OutputStream createOnDisk(String name, HeldFile file) throws IOException {
        HELD.take(name, file);
        return createOnDisk(path(name), file.permission());
    }

    /** Makes room; false if there is nothing that could go. */
    boolean writeOldestToDisk() throws IOException {
        for (String name = HELD.oldest(); name != null; name = HELD.oldest()) {
            HeldFile file = HELD.at(name);
            if (file != null) {
                writeToDisk(name, file);
                return true;
            }
        }
        return false;
    }

    @Override
    public void setWorkingDirectory(Path folder) {
        super.setWorkingDirectory(folder);
        disk.setWorkingDirectory(folder);
    }

    @Override
    public FsStatus getStatus(Path path) throws IOException {
        return disk.getStatus(path);
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        HeldFile file = find(path);
        if (file == null) {
            return super.open(path, bufferSize);
        }
        if (file.isFolder()) {
            throw new FileNotFoundException(path + " (Is a directory)");
        }
        file.touch();
        try {
            return new FSDataInputStream(new HeldInput(file.bytes().reader(), statistics));
        } catch (NoRoomException e) {
            LOG.debug("{} has pairs in memory, and there is no room for its bytes", path, e);
            return super.open(path, bufferSize);
        }
    }

    @Override
    protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
            throws IOException {
        String name = held(path);
        HeldFile old = name == null ? null : HELD.at(name);
        if (old != null && old.isFolder()) {
            throw new FileNotFoundException(path + " (Is a directory)");
        }
        if (append || !wouldHold(path, name)) {
            return super.createOutputStreamWithMode(path, append, permission);
        }
        if (!exists(path.getParent())) {
            throw new FileNotFoundException(path + " (No such file or directory)");
        }
        HeldFile file = create(name, permission);
        return new BufferedOutputStream(new HeldOutput(this, name, file), BUFFER_BYTES);
    }

    private boolean wouldHold(Path path, String name) throws IOException {
        return name != null && HELD.isClaimed(name) && !disk.exists(path);
    }

    private HeldFile create(String name, FsPermission permission) {
        FsPermission mask = FsPermission.getUMask(getConf());
        HeldFile file = HeldFile.file(
                cache, (permission == null ? FsPermission.getFileDefault() : permission).applyUMask(mask), keepNanos);
        HELD.put(name, file);
        return file;
    }

    /** Creates a sequence file as pairs; null if it would not be held, or there is something of its name. */
    SequencePairsWriter createPairs(Path path, SequencePairsWriter.Types types) throws IOException {
        String name = held(path);
        if (!wouldHold(path, name) || isHeld(name) || !mkdirs(path.getParent())) {
            return null;
        }
        return new SequencePairsWriter(new HeldPairs(this, name, create(name, null)), types);
    }

    /** Counts bytes that a job has written, for its counters, where no stream counted them. */
    void countWritten(long bytes) {
        statistics.incrementBytesWritten(bytes);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return find(path) != null || disk.exists(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        HeldFile file = find(path);
        return file == null || file.isFolder() && disk.exists(path)
                ? disk.getFileStatus(path)
                : status(makeQualified(path), file);
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return find(path) == null ? disk.getFileLinkStatus(path) : getFileStatus(path);
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        HeldFile file = find(path);
        if (file == null) {
            super.setPermission(path, permission);
        } else {
            file.setPermission(permission);
        }
    }

    private FileStatus status(Path path, HeldFile file) throws IOException {
        UserGroupInformation user = UserGroupInformation.getCurrentUser();
        return new FileStatus(
                file.length(),
                file.isFolder(),
                1,
                getDefaultBlockSize(path),
                file.modifiedMillis(),
                file.modifiedMillis(),
                file.permission(),
                user.getShortUserName(),
                user.getPrimaryGroupName(),
                path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        String name = held(path);
        HeldFile file = name == null ? null : HELD.at(name);
        List<String> children = name == null ? List.of() : HELD.children(name);
        if (file == null && children.isEmpty()) {
            return disk.listStatus(path);
        }
        if (file != null && !file.isFolder()) {
            return new FileStatus[] {getFileStatus(path)};
        }
        List<FileStatus> found = new ArrayList<>();
        if (disk.exists(path)) {
            for (FileStatus each : disk.listStatus(path)) {
                if (!children.contains(name + "/" + each.getPath().getName())) {
                    found.add(each);
                }
            }
        }
        for (String child : children) {
            try {
                found.add(getFileStatus(new Path(path, new Path(null, null, new File(child).getName()))));
            } catch (FileNotFoundException e) {
                LOG.debug("{} was deleted while its folder was listed", child, e);
            }
        }
        return found.toArray(FileStatus[]::new);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        return mkdirs(path, null);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        String name = held(path);
        if (name == null) {
            return disk.mkdirs(path, permission);
        }
        HeldFile there = HELD.at(name);
        if (there != null && !there.isFolder()) {
            throw new FileAlreadyExistsException("Destination exists and is not a directory: " + path);
        }
        if (there != null || disk.exists(path) || !HELD.isClaimed(name)) {
            HeldFile parent = path.getParent() == null ? null : find(path.getParent());
            if (parent != null && !parent.isFolder()) {
                throw new ParentNotDirectoryException("Parent path is not a directory: " + path.getParent());
            }
            return there != null || disk.mkdirs(path, permission);
        }
        if (!mkdirs(path.getParent(), null)) {
            return false;
        }
        FsPermission mask = FsPermission.getUMask(getConf());
        HELD.put(
                name,
                HeldFile.folder((permission == null ? FsPermission.getDirDefault() : permission).applyUMask(mask)));
        return true;
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        cache.forget(cacheName(path));
        String name = held(path);
        if (name == null || HELD.at(name) == null && !HELD.hasBelow(name)) {
            return disk.delete(path, recursive);
        }
        if (!recursive && getFileStatus(path).isDirectory() && listStatus(path).length > 0) {
            throw new IOException("Directory " + path + " is not empty");
        }
        HELD.removeAll(name);
        return !disk.exists(path) || disk.delete(path, recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        boolean renamed = renameAnything(from, to);
        if (renamed) {
            cache.renamed(cacheName(from), cacheName(to), this::versionOrNull);
        }
        return renamed;
    }

    private boolean renameAnything(Path from, Path to) throws IOException {
        String source = held(from);
        String target = held(to);
        if (source == null || target == null || !isHeld(source) && !isHeld(target) && !HELD.isClaimed(target)) {
            return disk.rename(from, to);
        }
        if (source.equals(target)) {
            return exists(from);
        }
        if (!canMove(from, to)) {
            return FileUtil.copy(this, from, this, to, true, getConf());
        }
        move(from, source, to, target);
        return true;
    }

    private static boolean isHeld(String name) {
        return HELD.at(name) != null || HELD.hasBelow(name);
    }

    /** Returns whether the disk itself can rename; Hadoop copies in other cases, such as a file into a folder. */
    private boolean canMove(Path from, Path to) throws IOException {
        FileStatus source = getFileStatus(from);
        Path folder = to.getParent();
        if (nameOnDisk(to).startsWith(nameOnDisk(from) + "/")
                || !exists(folder)
                || !getFileStatus(folder).isDirectory()) {
            return false;
        }
        if (!exists(to)) {
            return true;
        }
        boolean intoFolder = getFileStatus(to).isDirectory();
        return source.isDirectory() ? intoFolder && listStatus(to).length == 0 : !intoFolder;
    }

    private void move(Path from, String source, Path to, String target) throws IOException {
        synchronized (HELD) {
            HELD.removeAll(target);
            if (disk.exists(from)) {
                disk.mkdirs(to.getParent());
                if (!disk.rename(from, to)) {
                    throw new IOException("The disk does not rename " + from + " to " + to);
                }
            } else if (disk.exists(to)) {
                disk.delete(to, true);
            }
            HELD.move(source, target);
        }
    }

    private FileVersion versionOrNull(String name) {
        try {
            return FileVersion.of(this, new Path(name));
        } catch (IOException e) {
            LOG.debug("{} is not a file", name, e);
            return null;
        }
    }
}
