package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** A record reader of the {@code mapreduce} interface over another, which is asked for all that a subclass does not say. */
@SuppressWarnings({"unchecked", "rawtypes"})
class NewWrappedReader extends RecordReader<Object, Object> {
    final RecordReader real;

    NewWrappedReader(RecordReader real) {
        this.real = real;
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) throws IOException, InterruptedException {
        real.initialize(split, context);
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        return real.nextKeyValue();
    }

    @Override
    public Object getCurrentKey() throws IOException, InterruptedException {
        return real.getCurrentKey();
    }

    @Override
    public Object getCurrentValue() throws IOException, InterruptedException {
        return real.getCurrentValue();
    }

    @Override
    public float getProgress() throws IOException, InterruptedException {
        return real.getProgress();
    }

    @Override
    public void close() throws IOException {
        real.close();
    }
}
