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

/** A program's record reader of the {@code mapreduce} interface; the cache copies all of its pairs. */
final class NewFillingReader extends NewWrappedReader {
    private final CachedSplit copy;
    private final InputSplit split;
    private final TaskAttemptContext context;

    private NewFillingReader(RecordReader<?, ?> real, CachedSplit copy, InputSplit split, TaskAttemptContext context) {
        super(real);
        this.copy = copy;
        this.split = split;
        this.context = context;
    }

    static NewFillingReader open(CachedSplit copy, TaskAttemptID id, TaskReporter reporter, boolean promised)
            throws IOException, InterruptedException {
        InputSplit split = (InputSplit) copy.part().split();
        TaskAttemptContext context = new MapContextImpl<>(copy.conf(), id, null, null, null, reporter, split);
        InputFormat<?, ?> format =
                (InputFormat<?, ?>) ReflectionUtils.newInstance(copy.part().format(), copy.conf());
        RecordReader<?, ?> reader = format.createRecordReader(split, context);
        return new NewFillingReader(promised ? new NewFreshReader(reader, copy.conf()) : reader, copy, split, context);
    }

    @Override
    public void initialize(InputSplit tagged, TaskAttemptContext unrecorded) throws IOException, InterruptedException {
        super.initialize(split, context);
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        boolean found = super.nextKeyValue();
        if (found) {
            copy.add(real.getCurrentKey(), real.getCurrentValue());
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
