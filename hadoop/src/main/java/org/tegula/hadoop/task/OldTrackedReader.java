package org.tegula.hadoop.task;

import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;

/** A program's record reader of the {@code mapred} interface, counted. Several threads of a mapper may share it. */
final class OldTrackedReader extends OldWrappedReader implements OwnedPairs, Closeable {
    private final TaskReporter reporter;
    private final InputCounts counts;
    private boolean closed;

    private OldTrackedReader(RecordReader<?, ?> real, InputCounts counts, TaskReporter reporter) {
        super(real);
        this.counts = counts;
        this.reporter = reporter;
    }

    static OldTrackedReader open(Inputs inputs, InputSplit split, JobConf conf, TaskReporter reporter)
            throws IOException {
        InputCounts counts = new InputCounts(split instanceof FileSplit file ? file.getPath() : null, conf, reporter);
        long before = counts.before();
        RecordReader<?, ?> real = inputs.open(split);
        counts.addBytes(before);
        if (real instanceof OldBlockReader) {
            counts.readNoMore();
        }
        return new OldTrackedReader(real, counts, reporter);
    }

    @Override
    public synchronized boolean next(Object key, Object value) throws IOException {
        reporter.check();
        long before = counts.before();
        boolean found = super.next(key, value);
        counts.addBytes(before);
        if (found) {
            counts.addRecord();
        }
        return found;
    }

    /** Advances to the next pair, which has objects of its own, of a reader for a mapper that changes no pair. */
    @Override
    public boolean advance() throws IOException {
        reporter.check();
        long before = counts.before();
        boolean found = owned().advance();
        counts.addBytes(before);
        if (found) {
            counts.addRecord();
        }
        return found;
    }

    private OwnedPairs owned() {
        return (OwnedPairs) real;
    }

    @Override
    public Object key() {
        return owned().key();
    }

    @Override
    public Object value() {
        return owned().value();
    }

    @Override
    public synchronized void close() throws IOException {
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
