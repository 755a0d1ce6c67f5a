package org.tegula.hadoop.task;

import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;

/** A program's record reader of the {@code mapred} interface, counted. Several threads of a mapper may share it. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class OldTrackedReader implements RecordReader<Object, Object>, Closeable {
    private final TaskReporter reporter;
    private final TrafficMeter meter;
    private final Counters.Counter bytes;
    private final Counters.Counter records;
    private final RecordReader real;
    private long bytesRead;
    private long recordsRead;
    private boolean closed;

    OldTrackedReader(JobConf conf, InputSplit split, TaskReporter reporter) throws IOException {
        this.reporter = reporter;
        bytes = reporter.getCounter(FileInputFormatCounter.BYTES_READ);
        records = reporter.getCounter(TaskCounter.MAP_INPUT_RECORDS);
        meter = split instanceof FileSplit file ? TrafficMeter.of(file.getPath(), conf) : TrafficMeter.NONE;
        long before = meter.bytesRead();
        real = conf.getInputFormat().getRecordReader(split, conf, reporter);
        bytesRead = meter.bytesRead() - before;
    }

    @Override
    public synchronized boolean next(Object key, Object value) throws IOException {
        reporter.check();
        long before = meter.bytesRead();
        boolean found = real.next(key, value);
        bytesRead += meter.bytesRead() - before;
        if (found && (++recordsRead & 0x3FF) == 0) {
            count();
            reporter.updateProgress();
        }
        return found;
    }

    private void count() {
        bytes.increment(bytesRead);
        records.increment(recordsRead - records.getValue());
        bytesRead = 0;
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
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        long before = meter.bytesRead();
        try {
            real.close();
        } finally {
            bytesRead += meter.bytesRead() - before;
            count();
        }
    }
}
