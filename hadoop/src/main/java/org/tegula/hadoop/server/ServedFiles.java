package org.tegula.hadoop.server;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.files.HeldFileSystem;

/** A server's files in memory: decoded pairs, and outputs that are nowhere else. */
final class ServedFiles {
    private final HeldFileSystem files = new HeldFileSystem();
    private final PairCache cache;

    ServedFiles(PairCache cache, Configuration conf) throws IOException {
        this.cache = cache;
        files.initialize(URI.create("file:///"), conf);
    }

    /** Returns the kept files. Drops the pairs of files that clients have deleted, because nothing else looks for them. */
    KeptFile[] kept() throws IOException {
        List<KeptFile> all = new ArrayList<>();
        for (PairCache.Kept each : cache.kept()) {
            if (each.name().startsWith("file:/") && !files.exists(new Path(each.name()))) {
                cache.forget(each.name());
                continue;
            }
            all.add(new KeptFile(each.name(), each.user(), each.pairs(), each.bytes()));
        }
        for (Map.Entry<String, Long> each : HeldFileSystem.sizes().entrySet()) {
            all.add(new KeptFile("file:" + each.getKey(), "", 0, each.getValue()));
        }
        return all.toArray(KeptFile[]::new);
    }

    void drop(String path) throws IOException {
        if (path.isEmpty()) {
            cache.clear();
            files.writeAllToDisk();
        } else {
            cache.forget(files.makeQualified(new Path(path)).toString());
            write(path);
        }
    }

    void write(String path) throws IOException {
        try {
            files.writeToDisk(new Path(path));
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    boolean holds(String path) throws IOException {
        return files.concerns(new Path(path));
    }

    FileStatus status(String path) throws IOException {
        try {
            return plain(files.getFileStatus(new Path(path)));
        } catch (FileNotFoundException e) {
            return null;
        }
    }

    FileStatus[] list(String path) throws IOException {
        FileStatus[] all = files.listStatus(new Path(path));
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
        return files.delete(new Path(path), recursive);
    }

    boolean rename(String from, String to) throws IOException {
        return files.rename(new Path(from), new Path(to));
    }
}
