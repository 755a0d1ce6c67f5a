package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/** A program's record reader of the {@code mapreduce} interface, counted. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class NewTrackedReader extends RecordReader<Object, Object> {
    private final TaskReporter reporter;
    private final InputCounts counts;
    private final RecordReader real;
    private boolean closed;

    /** Opens a record reader. */
    interface Opening {
        RecordReader open() throws IOException, InterruptedException;
    }

    NewTrackedReader(Opening opening, InputSplit split, TaskAttemptContext context, TaskReporter reporter)
            throws IOException, InterruptedException {
        this.reporter = reporter;
        counts = new InputCounts(
                split instanceof FileSplit file ? file.getPath() : null, context.getConfiguration(), reporter);
        long before = counts.before();
        real = opening.open();
        counts.addBytes(before);
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) throws IOException, InterruptedException {
        long before = counts.before();
        real.initialize(split, context);
        counts.addBytes(before);
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        reporter.check();
        long before = counts.before();
        boolean found = real.nextKeyValue();
        counts.addBytes(before);
        if (found) {
            counts.addRecord();
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
        if (closed) {
            return;
        }
        closed = true;
        long before = counts.before();
        try {
            real.close();
        } finally {
            counts.addBytes(before);
            counts.report();
        }
    }
}
