package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.cache.CachedSplit;

/** A program's record reader of the {@code mapred} interface; the cache copies all of its pairs. */
final class OldFillingReader extends OldWrappedReader {
    private final CachedSplit copy;

    OldFillingReader(CachedSplit copy, TaskReporter reporter) throws IOException {
        super(open(copy, reporter));
        this.copy = copy;
    }

    private static RecordReader<?, ?> open(CachedSplit copy, TaskReporter reporter) throws IOException {
        InputFormat<?, ?> format =
                (InputFormat<?, ?>) ReflectionUtils.newInstance(copy.part().format(), copy.conf());
        return format.getRecordReader((InputSplit) copy.part().split(), copy.conf(), reporter);
    }

    @Override
    public boolean next(Object key, Object value) throws IOException {
        boolean found = super.next(key, value);
        if (found) {
            copy.add(key, value);
        } else {
            copy.finish();
        }
        return found;
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
