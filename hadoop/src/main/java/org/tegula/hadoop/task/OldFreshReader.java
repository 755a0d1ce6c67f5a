package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * A record reader of the {@code mapred} interface that gives every pair objects of its own. A program's reader may let the
 * objects that it fills refer to a buffer that it fills again, so they are copied; Hadoop's own readers fill new ones.
 */
final class OldFreshReader extends OldWrappedReader implements OwnedPairs {
    private final boolean lends;
    private final JobConf conf;
    private Object lentKey;
    private Object lentValue;
    private Object key;
    private Object value;

    /**
     * @param lends whether the objects that the reader has filled may refer to its buffers
     */
    OldFreshReader(RecordReader<?, ?> real, boolean lends, JobConf conf) {
        super(real);
        this.lends = lends;
        this.conf = conf;
    }

    @Override
    public boolean advance() throws IOException {
        return lends ? advanceByCopy() : advanceByNew();
    }

    private boolean advanceByNew() throws IOException {
        key = createKey();
        value = createValue();
        return next(key, value);
    }

    private boolean advanceByCopy() throws IOException {
        if (lentKey == null && lentValue == null) {
            lentKey = createKey();
            lentValue = createValue();
        }
        if (!next(lentKey, lentValue)) {
            return false;
        }
        key = copy(lentKey);
        value = copy(lentValue);
        return true;
    }

    private Object copy(Object object) throws IOException {
        return object == null ? null : ReflectionUtils.copy(conf, object, null);
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
