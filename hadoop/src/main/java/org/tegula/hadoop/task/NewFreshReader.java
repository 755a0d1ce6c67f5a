package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.RecordReader;
import org.tegula.hadoop.live.ObjectCopier;

/** A record reader that gives every pair objects of its own, whatever the program's reader does with its objects. */
final class NewFreshReader extends NewWrappedReader {
    private final ObjectCopier copier;
    private Object key;
    private Object value;

    NewFreshReader(RecordReader<?, ?> real, Configuration conf) {
        super(real);
        copier = new ObjectCopier(conf);
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        if (!super.nextKeyValue()) {
            return false;
        }
        key = copier.copy(real.getCurrentKey());
        value = copier.copy(real.getCurrentValue());
        return true;
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
