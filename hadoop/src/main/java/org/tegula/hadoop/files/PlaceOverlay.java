package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/**
 * A place's view of its driver's files in memory: they are listed, renamed and deleted there. A file that is read as bytes is
 * put into the file system below first, and a file that is written as bytes goes there. The pairs of a file stay at the place.
 */
final class PlaceOverlay implements Overlay {
    private final FileSystem whole;
    private final FileSystem below;
    private final DriverFiles driver;

    /** The file system that programs see ({@code whole}), and the one below it. */
    PlaceOverlay(FileSystem whole, FileSystem below, DriverFiles driver) {
        this.whole = whole;
        this.below = below;
        this.driver = driver;
    }

    private String name(Path path) {
        return below.makeQualified(path).toString();
    }

    @Override
    public boolean concerns(Path path) throws IOException {
        return driver.concerns(name(path));
    }

    @Override
    public void writeToDisk(Path path) throws IOException {
        driver.writeToDisk(name(path));
    }

    @Override
    public FSInputStream open(Path path, FileSystem.Statistics statistics) throws IOException {
        writeToDisk(path);
        return null;
    }

    /** The folder may be in memory alone. */
    @Override
    public OutputStream create(Path path, FsPermission permission, boolean makesFolder) throws IOException {
        if (concerns(path)) {
            writeToDisk(path);
            if (makesFolder || exists(path.getParent())) {
                below.mkdirs(path.getParent());
            }
        }
        return null;
    }

    @Override
    public boolean wouldHold(Path path) throws IOException {
        return driver.wouldHold(name(path));
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return driver.status(name(path)) != null;
    }

    @Override
    public FileStatus status(Path path) throws IOException {
        FileStatus status = driver.status(name(path));
        if (status == null) {
            throw new FileNotFoundException("File " + path + " does not exist");
        }
        return status;
    }

    @Override
    public FileStatus[] list(Path path) throws IOException {
        return concerns(path) ? driver.list(name(path)) : below.listStatus(path);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return driver.mkdirs(name(path), permission);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return driver.delete(name(path), recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return driver.rename(name(from), name(to));
    }

    @Override
    public boolean setPermission(Path path, FsPermission permission) throws IOException {
        return driver.setPermission(name(path), permission);
    }

    FileVersion version(Path path) throws IOException {
        return driver.version(name(path));
    }

    /** The pairs of a file, if they are at this place. */
    SequencePairs pairs(Path path) throws IOException {
        return driver.pairs(name(path));
    }

    /** Creates a sequence file as pairs in the memory of this place; null if it belongs into the file system below. */
    SequencePairsWriter createPairs(Path path, SequencePairsWriter.Types types) throws IOException {
        if (!types.areWritables() || !types.mayStay() || !wouldHold(path)) {
            return null;
        }
        PairCache cache = PairCache.shared(whole.getConf());
        return new SequencePairsWriter(new Target(path, cache, types.home()), types);
    }

    /** A file whose pairs are at this place. */
    private final class Target implements SequencePairsWriter.Target {
        private final Path path;
        private final PairCache cache;
        private final int home;

        Target(Path path, PairCache cache, int home) {
            this.path = path;
            this.cache = cache;
            this.home = home;
        }

        @Override
        public Room room() {
            return cache;
        }

        /** What other jobs have left here stays; this file goes to the disk. */
        @Override
        public boolean makeRoom() {
            return false;
        }

        @Override
        public OutputStream bytes() throws IOException {
            return whole.create(path, true);
        }

        @Override
        public Chunks held() {
            return null;
        }

        @Override
        public void complete(SequencePairs pairs) throws IOException {
            if (pairs != null && !driver.add(name(path), pairs, home)) {
                pairs.release();
                throw new IOException(path + " was created by someone else while it was written");
            }
        }
    }
}
