package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * The file systems of an engine's JVM whose files may be in memory, as others ask for them. That of the local disk is the
 * JVM's, for all callers; those of other file systems are their caller's, and stay open for the caller's next calls.
 */
public final class HeldFileSystems {
    private final HeldFileSystem local = new HeldFileSystem();
    private final Map<String, CachedFileSystem> others = new ConcurrentHashMap<>();
    private final Configuration conf;

    /**
     * Those of this JVM.
     *
     * @param conf of the engine
     * @throws IOException if the local file system cannot be had
     */
    public HeldFileSystems(Configuration conf) throws IOException {
        this.conf = conf;
        local.initialize(URI.create("file:///"), conf);
    }

    /**
     * Whether a path is of the local disk.
     *
     * @param path any
     * @return true also if the path names no file system
     */
    public static boolean isLocal(Path path) {
        String scheme = path.toUri().getScheme();
        return scheme == null || scheme.equals("file");
    }

    /**
     * The local disk.
     *
     * @return the file system itself
     */
    public HeldFileSystem local() {
        return local;
    }

    /**
     * The file system of a path.
     *
     * @param path any
     * @return one that is not to be closed
     * @throws IOException if it cannot be opened for the present user
     */
    public FileSystem of(Path path) throws IOException {
        return isLocal(path) ? local : other(path);
    }

    private CachedFileSystem other(Path path) throws IOException {
        URI root = path.toUri().resolve("/");
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        try {
            return others.computeIfAbsent(user + "@" + root, key -> {
                CachedFileSystem files = new CachedFileSystem();
                try {
                    files.initialize(root, conf);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                return files;
            });
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /**
     * The same status in Hadoop's own class, which every JVM can make.
     *
     * @param status of any class
     * @return a status of its own
     */
    public static FileStatus plain(FileStatus status) {
        return new FileStatus(
                status.getLen(),
                status.isDirectory(),
                status.getReplication(),
                status.getBlockSize(),
                status.getModificationTime(),
                status.getAccessTime(),
                status.getPermission(),
                status.getOwner(),
                status.getGroup(),
                status.getPath());
    }

    /** The files of a path's file system that are in memory. */
    HeldFiles held(Path path) throws IOException {
        return isLocal(path) ? local.held() : other(path).held();
    }

    /**
     * Whether anything at or below a path is in memory alone, or would be if it were written.
     *
     * @param path any
     * @return false if the file system below says all about it
     * @throws IOException if the file system fails
     */
    public boolean concerns(Path path) throws IOException {
        return held(path).concerns(path);
    }

    /**
     * Puts everything in memory, of all file systems and users, into the file systems below.
     *
     * @throws IOException if some of it cannot be written; all else is
     */
    public void writeAllToDisk() throws IOException {
        FirstFault faults = new FirstFault();
        faults.attempt(local::writeAllToDisk);
        faults.attempt(CachedFileSystem::writeAllToDisk);
        faults.rethrow();
    }

    /**
     * Puts the files in memory at and below a path into the file system below.
     *
     * @param path that nothing need be held of
     * @throws IOException if the file system does not take it
     */
    public void writeToDisk(Path path) throws IOException {
        try {
            held(path).writeToDisk(path);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }
}
