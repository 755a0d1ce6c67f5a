package org.tegula.hadoop.run;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.mapreduce.MRConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names for a job's spilled files, spread over the folders of {@code mapreduce.cluster.local.dir}. An attempt that was left
 * behind may outlive its job: it gets no more of them.
 */
public final class SpillFiles {
    private static final Logger LOG = LoggerFactory.getLogger(SpillFiles.class);

    private final Configuration conf;
    private final String folder;
    private final LocalDirAllocator folders = new LocalDirAllocator(MRConfig.LOCAL_DIR);
    private int count;
    private boolean hadTasks;
    private boolean ended;

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

    synchronized Path create() throws IOException {
        if (ended) {
            throw new IOException("The job has ended: there is no spill file for its tasks any more");
        }
        String name = folder + "/" + ++count + ".run";
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
    public synchronized void deleteOfTask(String attempt) {
        for (String each : ofTask(attempt)) {
            File there = new File(new org.apache.hadoop.fs.Path(each).toUri().getPath());
            if (there.exists()) {
                hadTasks = true;
                FileUtil.fullyDelete(there);
            }
        }
        if (ended) {
            delete();
        }
    }

    /** Deletes the folders at the job's end, with whatever attempts have left there that did not return. */
    public synchronized void delete() {
        ended = true;
        if (count == 0 && !hadTasks) {
            return;
        }
        try {
            for (org.apache.hadoop.fs.Path path : folders.getAllLocalPathsToRead(folder, conf)) {
                delete(new File(path.toUri().getPath()));
            }
        } catch (IOException e) {
            LOG.warn("The spill files of {} could not be found and may be removed by hand", folder, e);
        }
    }

    private static void delete(File there) {
        if (!FileUtil.fullyDelete(there)) {
            LOG.warn("The spill files in {} could not be deleted and may be removed by hand", there);
        }
    }
}
