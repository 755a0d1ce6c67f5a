package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/** A program's record reader of the {@code mapreduce} interface, counted. */
final class NewTrackedReader extends NewWrappedReader {
    private final TaskReporter reporter;
    private final InputCounts counts;
    private boolean closed;

    /** Opens a record reader. */
    interface Opening {
        RecordReader<?, ?> open() throws IOException, InterruptedException;
    }

    private NewTrackedReader(RecordReader<?, ?> real, InputCounts counts, TaskReporter reporter) {
        super(real);
        this.counts = counts;
        this.reporter = reporter;
    }

    static NewTrackedReader open(Opening opening, InputSplit split, TaskAttemptContext context, TaskReporter reporter)
            throws IOException, InterruptedException {
        InputCounts counts = new InputCounts(
                split instanceof FileSplit file ? file.getPath() : null, context.getConfiguration(), reporter);
        long before = counts.before();
        RecordReader<?, ?> real = opening.open();
        counts.addBytes(before);
        if (real instanceof NewBlockReader) {
            counts.readNoMore();
        }
        return new NewTrackedReader(real, counts, reporter);
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) throws IOException, InterruptedException {
        long before = counts.before();
        super.initialize(split, context);
        counts.addBytes(before);
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        reporter.check();
        long before = counts.before();
        boolean found = super.nextKeyValue();
        counts.addBytes(before);
        if (found) {
            counts.addRecord();
        }
        return found;
    }

    @Override
    public void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        long before = counts.before();
        try {
            super.close();
        } finally {
            counts.addBytes(before);
            counts.report();
        }
    }
}
