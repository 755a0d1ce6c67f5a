package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.util.ReflectionUtils;

/** A record reader that gives every pair objects of its own, whatever the program's reader does with its objects. */
final class NewFreshReader extends NewWrappedReader {
    private final Configuration conf;
    private Object key;
    private Object value;

    NewFreshReader(RecordReader<?, ?> real, Configuration conf) {
        super(real);
        this.conf = conf;
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        if (!super.nextKeyValue()) {
            return false;
        }
        key = copy(real.getCurrentKey());
        value = copy(real.getCurrentValue());
        return true;
    }

    private Object copy(Object object) throws IOException {
        return object == null ? null : ReflectionUtils.copy(conf, object, null);
    }

    @Override
    public Object getCurrentKey() {
        return key;
    }

    @Override
    public Object getCurrentValue() {
        return value;
    }
}
