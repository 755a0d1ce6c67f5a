package org.tegula.hadoop.cache;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.live.KnownSize;

/**
 * A copy of the pairs that a task writes to a sequence file: once the job is committed, they equal the pairs that a reader of
 * the file would decode.
 */
public final class CachedOutput {
    private static final Logger LOG = LoggerFactory.getLogger(CachedOutput.class);

    private final PairCache cache;
    private final JobConf conf;
    private final FileSystem files;
    private final Path work;
    private final Path target;
    private final BlockWriter writer;
    private final int home;
    private PairBlock block;
    private FileVersion written;

    /**
     * A copy without pairs.
     *
     * @param cache where it goes
     * @param conf of the task
     * @param work the file that the task writes
     * @param target where the committer puts it
     * @param home the slot where the pairs belong
     * @param promised whether nobody changes the pairs after they were written
     * @param known the sizes of objects that the task was handed
     * @throws IOException if there is no such file system
     */
    public CachedOutput(
            PairCache cache, JobConf conf, Path work, Path target, int home, boolean promised, KnownSize known)
            throws IOException {
        this.cache = cache;
        this.conf = conf;
        this.files = work.getFileSystem(conf);
        this.work = work;
        this.target = target;
        this.home = home;
        this.writer = BlockWriter.ofOutput(cache, promised, known);
    }

    /**
     * Takes a pair that was written.
     *
     * @param key the key
     * @param value the value
     */
    public void add(Object key, Object value) {
        writer.add(key, value);
    }

    /** Ends the copy: the file was written and closed. */
    public void finish() {
        block = writer.finish();
        try {
            written = FileVersion.of(files, work);
        } catch (IOException e) {
            LOG.debug("The pairs of {} are not kept", work, e);
            release();
        }
    }

    /**
     * Keeps the pairs of a job that was committed, if its file is where it belongs.
     *
     * @throws InterruptedException if the job is stopped
     */
    public void keep() throws InterruptedException {
        if (block == null) {
            return;
        }
        try {
            FileVersion now = FileVersion.settled(files, target);
            if (now != null && now.sameContents(written)) {
                SplitSource source = SplitSource.of(target, 0, now.length(), SplitSource.SEQUENCE_FILES, conf);
                cache.put(source.key(), block, now, settings(), home);
                block = null;
            }
        } catch (IOException e) {
            LOG.debug("The pairs of {} are not kept", target, e);
        } finally {
            release();
        }
    }

    private ReadSettings settings() {
        String name = CommonConfigurationKeys.IO_SERIALIZATIONS_KEY;
        Map<String, String> values = new HashMap<>();
        values.put(name, conf.get(name));
        return new ReadSettings(values, Map.of());
    }

    /** Gives the pairs up: the task or the job has failed. Nothing happens after {@link #keep}. */
    public void abandon() {
        writer.abandon();
        release();
    }

    private void release() {
        if (block != null) {
            block.release();
            block = null;
        }
    }
}
