package org.tegula.hadoop.files;

import java.io.BufferedOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.memory.NoRoomException;

/**
 * A file system's files and those of a {@link HeldTree} over it, as one: what its calls of names, listings, reading and writing
 * do. The file system that programs see ({@code whole}) asks it for each such call, and for all others has it write the files in
 * memory to the file system below first.
 */
final class HeldFiles implements Overlay {
    private static final Logger LOG = LoggerFactory.getLogger(HeldFiles.class);
    static final int BUFFER_BYTES = 1 << 16;
    private final FileSystem whole;
    private final Below below;
    private final FileSystem disk;
    private final HeldTree tree;
    private final HeldTree.Keepers keepers;
    private final HeldFlush flush;
    private final Configuration conf;
    private final PairCache cache;
    private final long keepNanos;

    /** The keepers are asked for one if this is the first to hold a file in the tree. */
    HeldFiles(FileSystem whole, Below below, HeldTree tree, HeldTree.Keepers keepers, Configuration conf) {
        this.whole = whole;
        this.below = below;
        this.disk = below.files();
        this.tree = tree;
        this.keepers = keepers;
        this.flush = new HeldFlush(below, tree, conf);
        this.conf = conf;
        this.cache = PairCache.shared(conf);
        long seconds = conf.getLong(Settings.TEMPORARY_SECONDS, Settings.TEMPORARY_SECONDS_DEFAULT);
        keepNanos = seconds == 0 ? Long.MAX_VALUE : TimeUnit.SECONDS.toNanos(seconds);
    }

    Below below() {
        return below;
    }

    PairCache cache() {
        return cache;
    }

    /** Keeps everything that is created at or below a folder in memory; false if it is there, or the cache is off. */
    boolean hold(Path folder) throws IOException {
        if (!cache.isOn() || exists(folder)) {
            return false;
        }
        whole.mkdirs(folder.getParent());
        String name = below.name(folder);
        return tree.change(name, name, () -> {
            if (!tree.isClaimed(name)) {
                tree.claim(name, keepers);
            }
            return true;
        });
    }

    /** Moves files to the disk. */
    HeldFlush flush() {
        return flush;
    }

    @Override
    public void writeToDisk(Path path) throws IOException {
        String name = held(path);
        if (name != null) {
            flush.write(name);
        }
    }

    /** Whether anything at or below a path is in memory alone. */
    boolean holds(Path path) throws IOException {
        String name = held(path);
        return name != null && isHeld(name);
    }

    @Override
    public boolean concerns(Path path) throws IOException {
        String name = held(path);
        return name != null && (isHeld(name) || tree.isClaimed(name));
    }

    /** Drops the files in memory at and below a path. */
    void drop(Path path) throws IOException {
        String name = held(path);
        if (name != null) {
            tree.removeAll(name);
        }
    }

    /** The name of a path in the cache; one that comes from a URI may end in a slash. */
    String cacheName(Path path) {
        String name = whole.makeQualified(path).toString();
        return name.endsWith("/") ? name.substring(0, name.length() - 1) : name;
    }

    /** The name by which a path would be held, or null if nothing is. */
    private String held(Path path) throws IOException {
        if (tree.isEmpty()) {
            return null;
        }
        String name = below.name(path);
        String above = below.isLocal() ? null : tree.fileAbove(name);
        if (above != null) {
            throw new ParentNotDirectoryException(above + " is not a directory");
        }
        return name;
    }

    private HeldFile find(Path path) throws IOException {
        String name = held(path);
        return name == null ? null : tree.at(name);
    }

    /** Returns whether a path is of a file or folder that is in memory; a folder may be on the disk, too. */
    boolean has(Path path) throws IOException {
        return find(path) != null;
    }

    FileVersion version(Path path) throws IOException {
        HeldFile file = find(path);
        return file == null || file.isFolder() || !file.isComplete() ? null : file.version();
    }

    SequencePairs pairs(Path path) throws IOException {
        HeldFile file = find(path);
        SequencePairs pairs = file == null ? null : file.pairs();
        if (pairs != null) {
            file.touch();
        }
        return pairs;
    }

    /** A file whose bytes have no room goes to the disk. */
    @Override
    public HeldInput open(Path path, FileSystem.Statistics statistics) throws IOException {
        HeldFile file = find(path);
        if (file == null) {
            return null;
        }
        if (file.isFolder()) {
            throw new FileNotFoundException(path + " (Is a directory)");
        }
        file.touch();
        try {
            return new HeldInput(file.bytes().reader(), statistics);
        } catch (NoRoomException e) {
            LOG.debug("{} has pairs in memory, and there is no room for its bytes", path, e);
            writeToDisk(path);
            return null;
        }
    }

    @Override
    public OutputStream create(Path path, FsPermission permission, boolean makesFolder) throws IOException {
        String name = held(path);
        if (name == null) {
            return null;
        }
        return tree.changeOutput(name, () -> create(path, name, permission, makesFolder));
    }

    private OutputStream create(Path path, String name, FsPermission permission, boolean makesFolder)
            throws IOException {
        HeldFile old = tree.at(name);
        if (old != null && old.isFolder()) {
            throw new FileNotFoundException(path + " (Is a directory)");
        }
        if (!wouldHold(path, name)) {
            return null;
        }
        if (!(makesFolder ? mkdirsAbove(path) : exists(path.getParent()))) {
            throw new FileNotFoundException(path + " (No such file or directory)");
        }
        return new BufferedOutputStream(new HeldOutput(flush, name, newFile(name, permission)), BUFFER_BYTES);
    }

    @Override
    public boolean wouldHold(Path path) throws IOException {
        return wouldHold(path, held(path));
    }

    private boolean wouldHold(Path path, String name) throws IOException {
        return name != null && tree.isClaimed(name) && !disk.exists(path);
    }

    private HeldFile newFile(String name, FsPermission permission) {
        FsPermission mask = FsPermission.getUMask(conf);
        HeldFile file = HeldFile.file(
                cache, (permission == null ? FsPermission.getFileDefault() : permission).applyUMask(mask), keepNanos);
        tree.put(name, file);
        return file;
    }

    /** Creates a sequence file as pairs; null if it would not be held, or there is something of its name. */
    SequencePairsWriter createPairs(Path path, SequencePairsWriter.Types types) throws IOException {
        HeldFile file = newFileFor(path);
        return file == null ? null : new SequencePairsWriter(new HeldPairs(this, held(path), file), types);
    }

    /** Adds a sequence file whose pairs were made elsewhere; false if it would not be held, or there is something of its name. */
    boolean addPairs(Path path, SequencePairs pairs) throws IOException {
        HeldFile file = newFileFor(path);
        if (file == null) {
            return false;
        }
        file.complete(pairs);
        return true;
    }

    /** Returns null if the file would not be held, or there is something of its name. */
    private HeldFile newFileFor(Path path) throws IOException {
        String name = held(path);
        return name == null
                ? null
                : tree.changeOutput(
                        name,
                        () -> wouldHold(path, name) && !isHeld(name) && mkdirsAbove(path) ? newFile(name, null) : null);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return find(path) != null || disk.exists(path);
    }

    @Override
    public FileStatus status(Path path) throws IOException {
        HeldFile file = find(path);
        return file == null || file.isFolder() && disk.exists(path)
                ? disk.getFileStatus(path)
                : status(whole.makeQualified(path), file);
    }

    @Override
    public boolean setPermission(Path path, FsPermission permission) throws IOException {
        HeldFile file = find(path);
        if (file == null) {
            return false;
        }
        file.setPermission(permission);
        if (file.isFolder() && disk.exists(path)) {
            disk.setPermission(path, permission);
        }
        return true;
    }

    private FileStatus status(Path path, HeldFile file) throws IOException {
        UserGroupInformation user = UserGroupInformation.getCurrentUser();
        return new FileStatus(
                file.length(),
                file.isFolder(),
                disk.getDefaultReplication(path),
                disk.getDefaultBlockSize(path),
                file.modifiedMillis(),
                file.modifiedMillis(),
                file.permission(),
                user.getShortUserName(),
                user.getPrimaryGroupName(),
                path);
    }

    @Override
    public FileStatus[] list(Path path) throws IOException {
        String name = held(path);
        HeldFile file = name == null ? null : tree.at(name);
        List<String> children = name == null ? List.of() : tree.children(name);
        if (file == null && children.isEmpty()) {
            return onDisk(path);
        }
        if (file != null && !file.isFolder()) {
            return new FileStatus[] {status(path)};
        }
        List<FileStatus> found = new ArrayList<>();
        if (disk.exists(path)) {
            for (FileStatus each : onDisk(path)) {
                if (!children.contains(name + "/" + each.getPath().getName())) {
                    found.add(each);
                }
            }
        }
        for (String child : children) {
            try {
                found.add(status(new Path(path, new Path(null, null, child.substring(name.length() + 1)))));
            } catch (FileNotFoundException e) {
                LOG.debug("{} was deleted while its folder was listed", child, e);
            }
        }
        return found.toArray(FileStatus[]::new);
    }

    /** What is on the disk, but for files that are not yet whole: who lists them may move or count them. */
    private FileStatus[] onDisk(Path path) throws IOException {
        return Arrays.stream(disk.listStatus(path))
                .filter(each -> !tree.halves().has(each.getPath()))
                .toArray(FileStatus[]::new);
    }

    private boolean mkdirsOnDisk(Path path, FsPermission permission) throws IOException {
        return permission == null ? disk.mkdirs(path) : disk.mkdirs(path, permission);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        String name = held(path);
        return name == null
                ? mkdirsOnDisk(path, permission)
                : tree.changeOutput(name, () -> mkdirs(path, name, permission));
    }

    private boolean mkdirs(Path path, String name, FsPermission permission) throws IOException {
        HeldFile there = tree.at(name);
        if (there != null && !there.isFolder()) {
            throw new FileAlreadyExistsException("Destination exists and is not a directory: " + path);
        }
        if (there != null || disk.exists(path) || !tree.isClaimed(name)) {
            HeldFile parent = path.getParent() == null ? null : find(path.getParent());
            if (parent != null && !parent.isFolder()) {
                throw new ParentNotDirectoryException("Parent path is not a directory: " + path.getParent());
            }
            return there != null || mkdirsOnDisk(path, permission);
        }
        if (!mkdirsAbove(path)) {
            return false;
        }
        FsPermission mask = FsPermission.getUMask(conf);
        tree.put(
                name,
                HeldFile.folder((permission == null ? FsPermission.getDirDefault() : permission).applyUMask(mask)));
        return true;
    }

    /**
     * Makes the folder of a path, and all above it. On HDFS, each gets the permission of the one above it, and its user may create
     * files.
     */
    private boolean mkdirsAbove(Path path) throws IOException {
        Path folder = path.getParent();
        boolean isNew = !below.isLocal() && !exists(folder);
        if (!mkdirs(folder, null)) {
            return false;
        }
        HeldFile made = isNew ? find(folder) : null;
        if (made != null) {
            short above = status(folder.getParent()).getPermission().toShort();
            made.setPermission(new FsPermission((short) (above | HeldFlush.USER_CREATES)));
        }
        return true;
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        cache.forget(cacheName(path));
        String name = held(path);
        return name == null
                ? disk.delete(path, recursive)
                : tree.change(
                        name,
                        name,
                        () -> isHeld(name) ? deleteHeld(path, name, recursive) : disk.delete(path, recursive));
    }

    private boolean deleteHeld(Path path, String name, boolean recursive) throws IOException {
        if (!recursive && status(path).isDirectory() && list(path).length > 0) {
            throw new IOException("Directory " + path + " is not empty");
        }
        tree.removeAll(name);
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
        return source == null || target == null
                ? disk.rename(from, to)
                : tree.change(
                        source,
                        target,
                        () -> isHeld(source) || isHeld(target) || tree.isClaimed(target)
                                ? renameHeld(from, source, to, target)
                                : disk.rename(from, to));
    }

    private boolean renameHeld(Path from, String source, Path to, String target) throws IOException {
        if (!below.isLocal()) {
            return renameToNew(from, exists(to) && status(to).isDirectory() ? new Path(to, from.getName()) : to);
        }
        if (source.equals(target)) {
            return exists(from);
        }
        if (!canMove(from, to)) {
            return FileUtil.copy(whole, from, whole, to, true, conf);
        }
        move(from, source, to, target);
        return true;
    }

    private boolean isHeld(String name) {
        return tree.at(name) != null || tree.hasBelow(name);
    }

    /** Returns whether the disk itself can rename; Hadoop copies in other cases, such as a file into a folder. */
    private boolean canMove(Path from, Path to) throws IOException {
        FileStatus source = status(from);
        Path folder = to.getParent();
        if (below.name(to).startsWith(below.name(from) + "/")
                || !exists(folder)
                || !status(folder).isDirectory()) {
            return false;
        }
        if (!exists(to)) {
            return true;
        }
        boolean intoFolder = status(to).isDirectory();
        return source.isDirectory() ? intoFolder && list(to).length == 0 : !intoFolder;
    }

    private boolean renameToNew(Path from, Path to) throws IOException {
        String source = below.name(from);
        String target = below.name(to);
        if (source.equals(target)) {
            return exists(from);
        }
        Path folder = to.getParent();
        if (!exists(from)
                || exists(to)
                || target.startsWith(source + "/")
                || !exists(folder)
                || !status(folder).isDirectory()) {
            return false;
        }
        move(from, source, to, target);
        return true;
    }

    private void move(Path from, String source, Path to, String target) throws IOException {
        synchronized (tree) {
            tree.removeAll(target);
            if (disk.exists(from)) {
                flush.makeFolder(HeldTree.parent(target));
                disk.mkdirs(to.getParent());
                if (!disk.rename(from, to)) {
                    throw new IOException("The disk does not rename " + from + " to " + to);
                }
            } else if (disk.exists(to)) {
                disk.delete(to, true);
            }
            tree.move(source, target);
        }
    }

    private FileVersion versionOrNull(String name) {
        try {
            return FileVersion.of(whole, new Path(name));
        } catch (IOException e) {
            LOG.debug("{} is not a file", name, e);
            return null;
        }
    }

    /** The sizes of files in memory, by their names. */
    Map<String, Long> sizes() {
        return tree.sizes();
    }
}
