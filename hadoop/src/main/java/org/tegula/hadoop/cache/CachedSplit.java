package org.tegula.hadoop.cache;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import org.apache.hadoop.mapred.JobConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.live.KnownSize;

/** One split as the cache sees it: its pairs are there, or a task reads them and the cache takes them, too. */
public final class CachedSplit {
    private static final Logger LOG = LoggerFactory.getLogger(CachedSplit.class);

    private final PairCache cache;
    private final InputPart part;
    private final SplitSource source;
    private final FileVersion version;
    private final PairBlock block;
    private final RecordingConf conf;
    private final BlockWriter writer;
    private final int home;

    /** Of pairs that are there. */
    private CachedSplit(InputPart part, PairBlock block) {
        this.part = part;
        this.block = block;
        this.cache = null;
        this.source = null;
        this.version = null;
        this.conf = null;
        this.writer = null;
        this.home = PairCache.NO_HOME;
    }

    private CachedSplit(
            PairCache cache,
            InputPart part,
            SplitSource source,
            FileVersion version,
            JobConf conf,
            int home,
            boolean promised,
            KnownSize known) {
        this.cache = cache;
        this.home = home;
        this.part = part;
        this.source = source;
        this.version = version;
        this.block = cache.find(source.key(), version, conf);
        this.conf = block == null ? new RecordingConf(conf) : null;
        this.writer = block == null ? BlockWriter.ofInput(cache.roomFor(source.key()), promised, known, conf) : null;
    }

    /**
     * Where the pairs of a split are, if they are kept.
     *
     * @param cache where to look
     * @param part the split
     * @param conf of the job
     * @return the number of a slot, or -1
     * @throws IOException if the file system fails
     */
    public static int home(PairCache cache, InputPart part, JobConf conf) throws IOException {
        SplitSource source = SplitSource.of(part, conf);
        return source == null ? PairCache.NO_HOME : source.home(cache);
    }

    /**
     * Looks for the pairs of a split.
     *
     * @param cache where to look
     * @param part the split
     * @param conf of the task
     * @param home the slot that reads the split now
     * @param promised whether the mapper changes no pair, and each has objects of its own
     * @param known takes the sizes of values that are read
     * @return null if the pairs are not to be kept
     * @throws IOException if the file system fails
     */
    public static CachedSplit of(
            PairCache cache, InputPart part, JobConf conf, int home, boolean promised, KnownSize known)
            throws IOException {
        SplitSource source = cache.isOn() ? SplitSource.of(part, conf) : null;
        if (source == null) {
            return null;
        }
        PairBlock held = source.held(conf);
        if (held != null) {
            return new CachedSplit(part, held);
        }
        try {
            FileVersion version = source.version();
            return version == null ? null : new CachedSplit(cache, part, source, version, conf, home, promised, known);
        } catch (FileNotFoundException e) {
            LOG.debug("{} is not in the cache; the program's reader reports the fault", source.path(), e);
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("The task was stopped").initCause(e);
        }
    }

    /**
     * The pairs.
     *
     * @return null if they are still to be read
     */
    public PairBlock block() {
        return block;
    }

    /**
     * The split and who decodes it.
     *
     * @return the split inside of any wrapper
     */
    public InputPart part() {
        return part;
    }

    /**
     * Returns the configuration for a reader; it notes the settings that the reader asks for.
     *
     * @return null if the pairs are there
     */
    public RecordingConf conf() {
        return conf;
    }

    /**
     * Takes a pair that was read.
     *
     * @param key the key
     * @param value the value
     */
    public void add(Object key, Object value) {
        writer.add(key, value);
    }

    /** Keeps the pairs if all were read and the file is unchanged. */
    public void finish() {
        PairBlock read = writer.finish();
        if (read == null) {
            return;
        }
        ReadSettings settings = conf.settings();
        if (settings != null && isUnchanged()) {
            cache.put(source.key(), read, version, settings, home);
        } else {
            read.release();
        }
    }

    private boolean isUnchanged() {
        try {
            return version.equals(source.version());
        } catch (IOException e) {
            LOG.debug("{} is not kept", source.path(), e);
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Gives up pairs that were not all read; nothing happens after {@link #finish}. */
    public void abandon() {
        writer.abandon();
    }
}
