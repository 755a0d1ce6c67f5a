package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.cache.Versioned;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/** The local disk as a place sees it: with the outputs that its engine has in memory alone. */
public final class PlaceFileSystem extends OverlaidDisk implements Versioned {
    private static volatile DriverFiles driver;

    PlaceFileSystem() {}

    /**
     * Makes this JVM a place: its local file systems ask the driver from now on.
     *
     * @param files of the driver
     */
    public static void ask(DriverFiles files) {
        driver = files;
    }

    /** Whether this JVM is a place. */
    static boolean isWanted() {
        return driver != null;
    }

    @Override
    Overlay overlay(LocalDisk disk, Configuration conf) {
        return new PlaceOverlay(disk, driver);
    }

    @Override
    public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
        overlay().open(path, statistics);
        return super.open(path, bufferBytes);
    }

    @Override
    protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
            throws IOException {
        overlay().create(path, permission, false);
        return super.createOutputStreamWithMode(path, append, permission);
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        if (!overlay().setPermission(path, permission)) {
            super.setPermission(path, permission);
        }
    }

    @Override
    public FileVersion version(Path path) throws IOException {
        return driver.version(makeQualified(path).toString());
    }

    @Override
    public SequencePairs pairs(Path path) throws IOException {
        return driver.pairs(makeQualified(path).toString());
    }

    /** Creates a sequence file as pairs in the memory of this place; null if it is to be written to the disk. */
    SequencePairsWriter createPairs(Path path, SequencePairsWriter.Types types) throws IOException {
        if (!types.mayStay() || !overlay().wouldHold(path)) {
            return null;
        }
        PairCache cache = PairCache.shared(getConf());
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
            return create(path, true);
        }

        @Override
        public Chunks held() {
            return null;
        }

        @Override
        public void complete(SequencePairs pairs) throws IOException {
            if (pairs != null && !driver.add(makeQualified(path).toString(), pairs, home)) {
                pairs.release();
                throw new IOException(path + " was created by someone else while it was written");
            }
        }
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return getFileStatus(path);
    }
}
