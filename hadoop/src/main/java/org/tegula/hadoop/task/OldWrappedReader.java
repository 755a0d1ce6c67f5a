package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.RecordReader;

/** A record reader of the {@code mapred} interface over another, which is asked for all that a subclass does not say. */
@SuppressWarnings({"unchecked", "rawtypes"})
class OldWrappedReader implements RecordReader<Object, Object> {
    final RecordReader real;

    OldWrappedReader(RecordReader real) {
        this.real = real;
    }

    @Override
    public boolean next(Object key, Object value) throws IOException {
        return real.next(key, value);
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
        real.close();
    }
}
