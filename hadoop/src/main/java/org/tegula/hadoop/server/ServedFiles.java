package org.tegula.hadoop.server;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.files.CachedFileSystem;
import org.tegula.hadoop.files.HeldFileSystem;
import org.tegula.hadoop.files.HeldFileSystems;

/**
 * A server's files in memory: decoded pairs, and outputs that are nowhere else. Those of the local disk are the server's, for all
 * callers; those of other file systems are their user's.
 */
final class ServedFiles {
    private final HeldFileSystems files;
    private final PairCache cache;

    ServedFiles(PairCache cache, Configuration conf) throws IOException {
        this.cache = cache;
        this.files = new HeldFileSystems(conf);
    }

    /** Returns the kept files. Drops the pairs of files that clients have deleted, because nothing else looks for them. */
    KeptFile[] kept() throws IOException {
        List<KeptFile> all = new ArrayList<>();
        for (PairCache.Kept each : cache.kept()) {
            if (each.name().startsWith("file:/") && !files.local().exists(new Path(each.name()))) {
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
            files.writeAllToDisk();
        } else {
            Path whole = new Path(path);
            cache.forget(files.of(whole).makeQualified(whole).toString());
            write(path);
        }
    }

    void write(String path) throws IOException {
        files.writeToDisk(new Path(path));
    }

    boolean holds(String path) throws IOException {
        return files.concerns(new Path(path));
    }

    FileStatus status(String path) throws IOException {
        try {
            return HeldFileSystems.plain(files.of(new Path(path)).getFileStatus(new Path(path)));
        } catch (FileNotFoundException e) {
            return null;
        }
    }

    FileStatus[] list(String path) throws IOException {
        FileStatus[] all = files.of(new Path(path)).listStatus(new Path(path));
        for (int i = 0; i < all.length; i++) {
            all[i] = HeldFileSystems.plain(all[i]);
        }
        return all;
    }

    boolean delete(String path, boolean recursive) throws IOException {
        return files.of(new Path(path)).delete(new Path(path), recursive);
    }

    boolean rename(String from, String to) throws IOException {
        return files.of(new Path(from)).rename(new Path(from), new Path(to));
    }
}
