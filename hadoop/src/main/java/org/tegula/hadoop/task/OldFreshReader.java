package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.tegula.hadoop.live.ObjectCopier;

/**
 * A record reader of the {@code mapred} interface that gives every pair objects of its own. A program's reader may let the
 * objects that it fills refer to a buffer that it fills again, so they are copied; Hadoop's own readers fill new ones, and so
 * does every reader whose objects cannot be copied.
 */
final class OldFreshReader extends OldWrappedReader implements OwnedPairs {
    /** Null if new objects are filled. */
    private ObjectCopier copier;

    private boolean begun;
    private Object lentKey;
    private Object lentValue;
    private Object key;
    private Object value;

    /**
     * @param lends whether the objects that the reader has filled may refer to its buffers
     */
    OldFreshReader(RecordReader<?, ?> real, boolean lends, JobConf conf) {
        super(real);
        copier = lends ? new ObjectCopier(conf) : null;
    }

    @Override
    public boolean advance() throws IOException {
        if (copier != null && !begun) {
            begin();
        }
        return copier == null ? advanceByNew() : advanceByCopy();
    }

    private void begin() {
        begun = true;
        lentKey = createKey();
        lentValue = createValue();
        if (!copier.canCopy(lentKey) || !copier.canCopy(lentValue)) {
            copier = null;
        }
    }

    private boolean advanceByNew() throws IOException {
        key = createKey();
        value = createValue();
        return next(key, value);
    }

    private boolean advanceByCopy() throws IOException {
        if (!next(lentKey, lentValue)) {
            return false;
        }
        key = copier.copy(lentKey);
        value = copier.copy(lentValue);
        return true;
    }

    @Override
    public Object key() {
        return key;
    }

    @Override
    public Object value() {
        return value;
    }
}
