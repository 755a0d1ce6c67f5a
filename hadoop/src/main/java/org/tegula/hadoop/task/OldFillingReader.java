package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.cache.CachedSplit;

/** A program's record reader of the {@code mapred} interface; the cache copies all of its pairs. */
final class OldFillingReader extends OldWrappedReader implements OwnedPairs {
    private final CachedSplit copy;
    private final OldFreshReader fresh;

    OldFillingReader(CachedSplit copy, TaskReporter reporter) throws IOException {
        super(open(copy, reporter));
        this.copy = copy;
        fresh = new OldFreshReader(real, copy.part().lends(), copy.conf());
    }

    private static RecordReader<?, ?> open(CachedSplit copy, TaskReporter reporter) throws IOException {
        InputFormat<?, ?> format =
                (InputFormat<?, ?>) ReflectionUtils.newInstance(copy.part().format(), copy.conf());
        return format.getRecordReader((InputSplit) copy.part().split(), copy.conf(), reporter);
    }

    @Override
    public boolean next(Object key, Object value) throws IOException {
        boolean found = super.next(key, value);
        keep(found, key, value);
        return found;
    }

    @Override
    public boolean advance() throws IOException {
        boolean found = fresh.advance();
        keep(found, fresh.key(), fresh.value());
        return found;
    }

    private void keep(boolean found, Object key, Object value) {
        if (found) {
            copy.add(key, value);
        } else {
            copy.finish();
        }
    }

    @Override
    public Object key() {
        return fresh.key();
    }

    @Override
    public Object value() {
        return fresh.value();
    }

    @Override
    public void close() throws IOException {
        try {
            super.close();
        } finally {
            copy.abandon();
        }
    }
}
