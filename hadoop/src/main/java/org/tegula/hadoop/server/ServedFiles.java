package org.tegula.hadoop.server;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.files.CachedFileSystem;
import org.tegula.hadoop.files.HeldFileSystem;

/**
 * A server's files in memory: decoded pairs, and outputs that are nowhere else. Those of the local disk are the server's, for all
 * callers; those of other file systems are their user's.
 */
final class ServedFiles {
    private final HeldFileSystem local = new HeldFileSystem();
    private final Map<String, CachedFileSystem> others = new ConcurrentHashMap<>();
    private final Configuration conf;
    private final PairCache cache;

    ServedFiles(PairCache cache, Configuration conf) throws IOException {
        this.cache = cache;
        this.conf = conf;
        local.initialize(URI.create("file:///"), conf);
    }

    private static boolean isLocal(Path path) {
        String scheme = path.toUri().getScheme();
        return scheme == null || scheme.equals("file");
    }

    private FileSystem files(Path path) throws IOException {
        return isLocal(path) ? local : other(path);
    }

    /** The caller's own, which stays open for the caller's next calls. */
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

    /** Returns the kept files. Drops the pairs of files that clients have deleted, because nothing else looks for them. */
    KeptFile[] kept() throws IOException {
        List<KeptFile> all = new ArrayList<>();
        for (PairCache.Kept each : cache.kept()) {
            if (each.name().startsWith("file:/") && !local.exists(new Path(each.name()))) {
                cache.forget(each.name());
                continue;
            }
            all.add(new KeptFile(each.name(), each.user(), each.pairs(), each.bytes()));
        }
        for (Map.Entry<String, Long> each : HeldFileSystem.sizes().entrySet()) {
            all.add(new KeptFile("file:" + each.getKey(), "", 0, each.getValue()));
        }
        for (Map.Entry<String, Long> each : CachedFileSystem.sizes().entrySet()) {
            all.add(new KeptFile(each.getKey(), "", 0, each.getValue()));
        }
        return all.toArray(KeptFile[]::new);
    }

    void drop(String path) throws IOException {
        if (path.isEmpty()) {
            cache.clear();
            local.writeAllToDisk();
            CachedFileSystem.writeAllToDisk();
        } else {
            Path whole = new Path(path);
            cache.forget(files(whole).makeQualified(whole).toString());
            write(path);
        }
    }

    void write(String path) throws IOException {
        Path whole = new Path(path);
        try {
            if (isLocal(whole)) {
                local.writeToDisk(whole);
            } else {
                other(whole).writeToDisk(whole);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    boolean holds(String path) throws IOException {
        Path whole = new Path(path);
        return isLocal(whole) ? local.concerns(whole) : other(whole).concerns(whole);
    }

    FileStatus status(String path) throws IOException {
        try {
            return plain(files(new Path(path)).getFileStatus(new Path(path)));
        } catch (FileNotFoundException e) {
            return null;
        }
    }

    FileStatus[] list(String path) throws IOException {
        FileStatus[] all = files(new Path(path)).listStatus(new Path(path));
        for (int i = 0; i < all.length; i++) {
            all[i] = plain(all[i]);
        }
        return all;
    }

    /** Of a class that a client can make. */
    private static FileStatus plain(FileStatus status) {
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

    boolean delete(String path, boolean recursive) throws IOException {
        return files(new Path(path)).delete(new Path(path), recursive);
    }

    boolean rename(String from, String to) throws IOException {
        return files(new Path(from)).rename(new Path(from), new Path(to));
    }
}
