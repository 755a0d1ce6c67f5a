package org.tegula.hadoop.run;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.mapreduce.MRConfig;

/** Names for a job's spilled files, spread over the folders of {@code mapreduce.cluster.local.dir}. */
public final class SpillFiles {
    private final Configuration conf;
    private final String folder;
    private final LocalDirAllocator folders = new LocalDirAllocator(MRConfig.LOCAL_DIR);
    private final AtomicInteger count = new AtomicInteger();
    private volatile boolean hadTasks;

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
     * Returns folders of a task's own, for files that Hadoop's classes write under names that tasks share, as in containers of
     * a cluster. They are made when they are needed.
     *
     * @param attempt the task
     * @return one in each folder of {@code mapreduce.cluster.local.dir}
     */
    public String[] ofTask(String attempt) {
        return Arrays.stream(conf.getTrimmedStrings(MRConfig.LOCAL_DIR))
                .map(each -> each + "/" + folder + "/" + attempt)
                .toArray(String[]::new);
    }

    /**
     * Deletes the folders of a task that has ended.
     *
     * @param attempt the task
     */
    public void deleteOfTask(String attempt) {
        for (String each : ofTask(attempt)) {
            File there = new File(new org.apache.hadoop.fs.Path(each).toUri().getPath());
            if (there.exists()) {
                hadTasks = true;
                FileUtil.fullyDelete(there);
            }
        }
    }

    /**
     * Deletes the folders, which are empty once all runs are released.
     *
     * @throws IOException if one cannot be deleted
     */
    public void delete() throws IOException {
        if (count.get() == 0 && !hadTasks) {
            return;
        }
        for (org.apache.hadoop.fs.Path path : folders.getAllLocalPathsToRead(folder, conf)) {
            Files.deleteIfExists(Path.of(path.toUri().getPath()));
        }
    }
}
