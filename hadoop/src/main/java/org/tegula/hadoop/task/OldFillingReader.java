package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.cache.CachedSplit;

/** A program's record reader of the {@code mapred} interface, of which the cache copies all pairs. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class OldFillingReader implements RecordReader<Object, Object> {
    private final CachedSplit copy;
    private final RecordReader real;

    OldFillingReader(CachedSplit copy, TaskReporter reporter) throws IOException {
        this.copy = copy;
        InputFormat format =
                (InputFormat) ReflectionUtils.newInstance(copy.part().format(), copy.conf());
        real = format.getRecordReader((InputSplit) copy.part().split(), copy.conf(), reporter);
    }

    @Override
    public boolean next(Object key, Object value) throws IOException {
        boolean found = real.next(key, value);
        if (found) {
            copy.add(key, value);
        } else {
            copy.finish();
        }
        return found;
    }

    @Override
    public Object createKey() {
        return real.createKey();
    }

    @Override
    public Object createValue() {
        return real.createValue();
    }

    @Override
    public long getPos() throws IOException {
        return real.getPos();
    }

    @Override
    public float getProgress() throws IOException {
        return real.getProgress();
    }

    @Override
    public void close() throws IOException {
        try {
            real.close();
        } finally {
            copy.abandon();
        }
    }
}
