package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.cache.CachedSplit;
import org.tegula.hadoop.cache.InputPart;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.live.KnownSize;

/** Opens splits: over kept pairs, or with the program's reader, whose pairs the cache copies if it may. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Inputs {
    private final PairCache cache;
    private final JobConf conf;
    private final TaskReporter reporter;
    private final int home;
    private final boolean promised;
    private final KnownSize known;

    /**
     * @param home the slot where pairs that are read belong from now on
     * @param promised whether the mapper changes no pair: then each has objects of its own
     * @param known takes the sizes of values that the mapper is handed
     */
    Inputs(PairCache cache, JobConf conf, TaskReporter reporter, int home, boolean promised, KnownSize known) {
        this.cache = cache;
        this.conf = conf;
        this.reporter = reporter;
        this.home = home;
        this.promised = promised;
        this.known = known;
    }

    RecordReader open(InputSplit split, Class<? extends InputFormat<?, ?>> format, TaskAttemptContext context)
            throws IOException, InterruptedException {
        CachedSplit cached = find(split, format);
        if (cached == null) {
            RecordReader reader = ReflectionUtils.newInstance(format, conf).createRecordReader(split, context);
            return promised ? new NewFreshReader(reader, conf) : reader;
        }
        return cached.block() != null
                ? new NewBlockReader(cached.block(), conf, promised, known)
                : NewFillingReader.open(
                        cached,
                        (org.apache.hadoop.mapred.TaskAttemptID) context.getTaskAttemptID(),
                        reporter,
                        promised);
    }

    org.apache.hadoop.mapred.RecordReader open(org.apache.hadoop.mapred.InputSplit split) throws IOException {
        org.apache.hadoop.mapred.InputFormat format = conf.getInputFormat();
        CachedSplit cached = find(split, format.getClass());
        if (cached == null) {
            org.apache.hadoop.mapred.RecordReader reader = format.getRecordReader(split, conf, reporter);
            boolean lends = InputPart.of(split, format.getClass()).lends();
            return promised ? new OldFreshReader(reader, lends, conf) : reader;
        }
        return cached.block() != null
                ? new OldBlockReader(cached.block(), split, conf, known)
                : new OldFillingReader(cached, reporter);
    }

    boolean arePromised() {
        return promised;
    }

    private CachedSplit find(Object split, Class<?> format) throws IOException {
        CachedSplit cached = CachedSplit.of(cache, InputPart.of(split, format), conf, home, promised, known);
        if (cached != null) {
            CacheCounter counter = cached.block() == null ? CacheCounter.SPLITS_READ : CacheCounter.SPLITS_FOUND;
            reporter.getCounter(counter).increment(1);
        }
        return cached;
    }
}
