package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;

/** The driver's files in memory, as its places ask for them, for the present user. */
public final class HeldForPlaces implements DriverFiles {
    private final HeldFileSystems files;

    /**
     * The files of this JVM.
     *
     * @param conf of the engine
     * @throws IOException if the local file system cannot be had
     */
    public HeldForPlaces(Configuration conf) throws IOException {
        files = new HeldFileSystems(conf);
    }

    @Override
    public boolean concerns(String path) throws IOException {
        return files.concerns(new Path(path));
    }

    @Override
    public FileStatus status(String path) throws IOException {
        try {
            return HeldFileSystems.plain(files.of(new Path(path)).getFileStatus(new Path(path)));
        } catch (FileNotFoundException e) {
            return null;
        }
    }

    @Override
    public FileStatus[] list(String path) throws IOException {
        FileStatus[] all = files.of(new Path(path)).listStatus(new Path(path));
        for (int i = 0; i < all.length; i++) {
            all[i] = HeldFileSystems.plain(all[i]);
        }
        return all;
    }

    @Override
    public boolean mkdirs(String path, FsPermission permission) throws IOException {
        Path folder = new Path(path);
        return permission == null
                ? files.of(folder).mkdirs(folder)
                : files.of(folder).mkdirs(folder, permission);
    }

    @Override
    public boolean delete(String path, boolean recursive) throws IOException {
        return files.of(new Path(path)).delete(new Path(path), recursive);
    }

    @Override
    public boolean rename(String from, String to) throws IOException {
        return files.of(new Path(from)).rename(new Path(from), new Path(to));
    }

    @Override
    public boolean setPermission(String path, FsPermission permission) throws IOException {
        return files.held(new Path(path)).setPermission(new Path(path), permission);
    }

    @Override
    public void writeToDisk(String path) throws IOException {
        files.writeToDisk(new Path(path));
    }

    @Override
    public boolean wouldHold(String path) throws IOException {
        return files.held(new Path(path)).wouldHold(new Path(path));
    }

    @Override
    public boolean add(String path, SequencePairs pairs, int home) throws IOException {
        return files.held(new Path(path)).addPairs(new Path(path), pairs);
    }

    @Override
    public SequencePairs pairs(String path) throws IOException {
        return files.held(new Path(path)).pairs(new Path(path));
    }

    @Override
    public FileVersion version(String path) throws IOException {
        return files.held(new Path(path)).version(new Path(path));
    }
}
