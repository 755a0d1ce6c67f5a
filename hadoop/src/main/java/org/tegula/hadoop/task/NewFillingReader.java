package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.task.MapContextImpl;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.cache.CachedSplit;

/** A program's record reader of the {@code mapreduce} interface, of which the cache copies all pairs. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class NewFillingReader extends RecordReader<Object, Object> {
    private final CachedSplit copy;
    private final InputSplit split;
    private final TaskAttemptContext context;
    private final RecordReader real;

    NewFillingReader(CachedSplit copy, TaskAttemptID id, TaskReporter reporter, boolean promised)
            throws IOException, InterruptedException {
        this.copy = copy;
        split = (InputSplit) copy.part().split();
        context = new MapContextImpl(copy.conf(), id, null, null, null, reporter, split);
        InputFormat format =
                (InputFormat) ReflectionUtils.newInstance(copy.part().format(), copy.conf());
        RecordReader reader = format.createRecordReader(split, context);
        real = promised ? new NewFreshReader(reader, copy.conf()) : reader;
    }

    @Override
    public void initialize(InputSplit tagged, TaskAttemptContext unrecorded) throws IOException, InterruptedException {
        real.initialize(split, context);
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        boolean found = real.nextKeyValue();
        if (found) {
            copy.add(real.getCurrentKey(), real.getCurrentValue());
        } else {
            copy.finish();
        }
        return found;
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
        try {
            real.close();
        } finally {
            copy.abandon();
        }
    }
}
