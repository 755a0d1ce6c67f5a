package org.tegula.hadoop.task;

import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;

/** A program's record reader of the {@code mapred} interface, counted. Several threads of a mapper may share it. */
final class OldTrackedReader extends OldWrappedReader implements Closeable {
    private final TaskReporter reporter;
    private final InputCounts counts;
    private Object key;
    private Object value;
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

    /** Advances to the next pair, which has objects of its own. */
    boolean advance() throws IOException {
        if (!(real instanceof OldBlockReader kept)) {
            key = createKey();
            value = createValue();
            return next(key, value);
        }
        reporter.check();
        boolean found = kept.advance();
        if (found) {
            key = kept.key();
            value = kept.value();
            counts.addRecord();
        }
        return found;
    }

    /** The key that {@link #advance} has found. */
    Object key() {
        return key;
    }

    /** The value that {@link #advance} has found. */
    Object value() {
        return value;
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
