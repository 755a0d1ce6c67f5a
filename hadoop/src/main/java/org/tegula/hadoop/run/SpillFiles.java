package org.tegula.hadoop.run;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.mapreduce.MRConfig;

/** Names for what a job spills, spread over the folders of {@code mapreduce.cluster.local.dir}. */
public final class SpillFiles {
    private final Configuration conf;
    private final String folder;
    private final LocalDirAllocator folders = new LocalDirAllocator(MRConfig.LOCAL_DIR);
    private final AtomicInteger count = new AtomicInteger();

    /**
     * The files of one job.
     *
     * @param conf names the folders
     * @param job whose they are
     */
    public SpillFiles(Configuration conf, String job) {
        this.conf = conf;
        this.folder = "tegula-spill/" + job;
    }

    Path create() throws IOException {
        String name = folder + "/" + count.incrementAndGet() + ".run";
        return Path.of(folders.getLocalPathForWrite(name, conf).toUri().getPath());
    }

    /**
     * Deletes the folders, which are empty once all runs are released.
     *
     * @throws IOException if one cannot be deleted
     */
    public void delete() throws IOException {
        if (count.get() == 0) {
            return;
        }
        for (org.apache.hadoop.fs.Path path : folders.getAllLocalPathsToRead(folder, conf)) {
            Files.deleteIfExists(Path.of(path.toUri().getPath()));
        }
    }
}
