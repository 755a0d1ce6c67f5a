package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.cache.PairsLost;

/**
 * Moves the files of a {@link HeldTree} to the file system below: those that somebody wants there, those that nobody uses, the
 * oldest when there is no room, and all of them at the end of the JVM.
 */
final class HeldFlush {
    private static final Logger LOG = LoggerFactory.getLogger(HeldFlush.class);
    /** Before Hadoop closes its file systems. */
    private static final int SHUTDOWN_PRIORITY = 15;
    /** A full memory takes a slow disk minutes. By Hadoop's own limit, the rest of the files would be lost after 30 seconds. */
    private static final long SHUTDOWN_HOURS = 24;

    private static final long LOOK_MILLIS = 1000;

    static final short USER_CREATES = 0300;

    private final Below below;
    private final FileSystem disk;
    private final HeldTree tree;
    private final FsPermission umask;

    HeldFlush(Below below, HeldTree tree, Configuration conf) {
        this.below = below;
        this.disk = below.files();
        this.tree = tree;
        this.umask = FsPermission.getUMask(conf);
    }

    /** Puts files on the disk when nobody uses them, and all of them at the end of the JVM. */
    void writeAtExit() {
        ShutdownHookManager.get().addShutdownHook(this::writeLast, SHUTDOWN_PRIORITY, SHUTDOWN_HOURS, TimeUnit.HOURS);
        Thread flusher = new Thread(this::writeIdle, "tegula-temporary-outputs");
        flusher.setDaemon(true);
        flusher.start();
    }

    /** Puts idle files on the disk from time to time, because a killed JVM loses the rest. */
    private void writeIdle() {
        try {
            while (true) {
                Thread.sleep(LOOK_MILLIS);
                for (String name : tree.idle()) {
                    HeldFile file = tree.at(name);
                    if (file != null) {
                        isWritten(name, file);
                    }
                }
            }
        } catch (InterruptedException e) {
            LOG.warn("From now on, files in memory are written to the disk at the end only", e);
        }
    }

    /** Moves a file to the disk if that is possible; one that cannot go is the last to be tried again. */
    private boolean isWritten(String name, HeldFile file) {
        try {
            write(name, file);
            return true;
        } catch (IOException | RuntimeException e) {
            LOG.error("{} was kept in memory and cannot be written: it stays there, and is tried again", name, e);
            file.touch();
            return false;
        }
    }

    /** Files that were not deleted may still be needed after the JVM's end. */
    private void writeLast() {
        try {
            writeAll();
        } catch (IOException | RuntimeException e) {
            LOG.error("What was in memory alone and could not be written is lost with this JVM", e);
        }
    }

    /** Moves everything to the disk, as {@link #write} does. */
    void writeAll() throws IOException {
        FirstFault faults = new FirstFault();
        for (String root : tree.roots()) {
            tree.at(root);
            faults.attempt(() -> write(root));
        }
        faults.rethrow();
    }

    /** Moves the files at or below a name to the disk: all that can be written, and each other one is named in the log. */
    void write(String name) throws IOException {
        FirstFault faults = new FirstFault();
        List<HeldFile> folders = new ArrayList<>();
        for (String each : tree.under(name)) {
            try {
                HeldFile file = tree.at(each);
                if (file != null && file.isFolder()) {
                    folders.add(file);
                    makeFolder(each);
                } else {
                    writeFile(each, file);
                }
            } catch (IOException | RuntimeException e) {
                LOG.error("{} is in memory alone and cannot be written", each, e);
                faults.note(e);
            }
        }
        Collections.reverse(folders);
        folders.forEach(each -> faults.attempt(() -> close(each)));
        faults.rethrow();
    }

    /** Writes a file, or those that replace it meanwhile. */
    private void writeFile(String name, HeldFile found) throws IOException {
        HeldFile file = found;
        while (file != null && file.isComplete() && !write(name, file)) {
            file = tree.at(name);
        }
    }

    /**
     * Makes a folder that is in memory, and those above it, with their permissions. Its user can create files in it until
     * {@link #close}. No rename comes between: it would leave a folder of the old name.
     */
    void makeFolder(String name) throws IOException {
        synchronized (tree) {
            HeldFile folder = tree.at(name);
            Path path = below.path(name);
            if (folder == null || disk.exists(path)) {
                return;
            }
            makeFolder(HeldTree.parent(name));
            FsPermission opened = opened(folder);
            disk.mkdirs(path, opened);
            permit(path, opened);
        }
    }

    private static FsPermission opened(HeldFile folder) {
        return new FsPermission((short) (folder.permission().toShort() | USER_CREATES));
    }

    /**
     * Takes from a folder what its user was allowed for its files alone, unless somebody has changed its permission since. It may
     * have another name by now.
     */
    private void close(HeldFile folder) throws IOException {
        if (opened(folder).equals(folder.permission())) {
            return;
        }
        synchronized (tree) {
            String name = tree.nameOf(folder);
            if (name == null) {
                return;
            }
            Path path = below.path(name);
            if (disk.exists(path) && disk.getFileStatus(path).getPermission().equals(opened(folder))) {
                disk.setPermission(path, folder.permission());
            }
        }
    }

    /** Gives a new file or folder the bits that Hadoop's umask has taken: a held file's permission has been through it before. */
    private void permit(Path path, FsPermission permission) throws IOException {
        if (!permission.applyUMask(umask).equals(permission)) {
            disk.setPermission(path, permission);
        }
    }

    /** Moves a file to the disk; false if it is not there any more, or another has its name. */
    private boolean write(String name, HeldFile file) throws IOException {
        Halves.Half half = tree.halves().begin(name, file);
        boolean isPlaced = false;
        try {
            isPlaced = isWritten(half, file) && isPlaced(half, file);
        } catch (IOException e) {
            if (isThere(half, file)) {
                throw e instanceof PairsLost lost ? lost.of(name) : e;
            }
            LOG.debug("{} was deleted while it was written to the disk", name, e); // HDFS ends its stream
        } finally {
            if (!isPlaced) {
                discard(half);
            }
        }
        if (isPlaced) {
            file.release();
        }
        return isPlaced;
    }

    /** Writes the bytes of a file, unless it is not there any more. */
    private boolean isWritten(Halves.Half half, HeldFile file) throws IOException {
        try (OutputStream out = create(half, file)) {
            if (out == null) {
                return false;
            }
            file.writeTo(out);
        }
        return true;
    }

    /** Returns null if the file is not there any more. A rename of its folder takes the half along from now on. */
    private OutputStream create(Halves.Half half, HeldFile file) throws IOException {
        synchronized (tree) {
            if (!isThere(half, file)) {
                return null;
            }
            makeFolder(HeldTree.parent(half.name()));
            return create(below.path(half.name()), file.permission());
        }
    }

    /**
     * Gives a whole file its name on the disk, if the one in memory still has it: one that has replaced it must not be replaced. Its
     * folder may have another name by now.
     */
    private boolean isPlaced(Halves.Half half, HeldFile file) throws IOException {
        synchronized (tree) {
            if (!isThere(half, file)) {
                return false;
            }
            String name = half.wholeName();
            Path whole = below.path(half.name());
            disk.setTimes(whole, file.modifiedMillis(), -1);
            if (!below.place(whole, below.path(name))) {
                disk.delete(whole, false);
            }
            tree.halves().end(half);
            tree.take(name, file);
            return true;
        }
    }

    private boolean isThere(Halves.Half half, HeldFile file) {
        synchronized (tree) {
            return tree.at(half.wholeName()) == file && tree.halves().contains(half);
        }
    }

    /** Some file systems show a file only once it is written, so one that was deleted before may be there. */
    private void discard(Halves.Half half) throws IOException {
        synchronized (tree) {
            tree.halves().end(half);
            disk.delete(below.path(half.name()), false);
        }
    }

    private OutputStream create(Path path, FsPermission permission) throws IOException {
        OutputStream out = disk.create(
                path,
                permission,
                true,
                HeldFiles.BUFFER_BYTES,
                disk.getDefaultReplication(path),
                disk.getDefaultBlockSize(path),
                null);
        try {
            permit(path, permission);
            return out;
        } catch (IOException | RuntimeException e) {
            out.close();
            throw e;
        }
    }

    /** Continues a file on the disk that was begun in memory. */
    OutputStream goOn(String name, HeldFile file) throws IOException {
        makeFolder(HeldTree.parent(name));
        tree.take(name, file);
        return create(below.path(name), file.permission());
    }

    /** Makes room; false if there is nothing that could go. */
    boolean writeOldest() {
        Set<HeldFile> stuck = new HashSet<>();
        for (String name = tree.oldest(); name != null; name = tree.oldest()) {
            HeldFile file = tree.at(name);
            if (file == null) {
                continue;
            }
            if (stuck.contains(file)) {
                return false;
            }
            if (isWritten(name, file)) {
                return true;
            }
            stuck.add(file);
        }
        return false;
    }
}
