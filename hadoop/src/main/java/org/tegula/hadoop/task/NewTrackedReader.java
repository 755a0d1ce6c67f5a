package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/** A program's record reader of the {@code mapreduce} interface, counted. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class NewTrackedReader extends RecordReader<Object, Object> {
    private final TaskReporter reporter;
    private final TrafficMeter meter;
    private final Counters.Counter bytes;
    private final Counters.Counter records;
    private final RecordReader real;
    private long bytesRead;
    private long recordsRead;
    private boolean closed;

    NewTrackedReader(InputFormat format, InputSplit split, TaskAttemptContext context, TaskReporter reporter)
            throws IOException, InterruptedException {
        this.reporter = reporter;
        bytes = reporter.getCounter(FileInputFormatCounter.BYTES_READ);
        records = reporter.getCounter(TaskCounter.MAP_INPUT_RECORDS);
        meter = split instanceof FileSplit file
                ? TrafficMeter.of(file.getPath(), context.getConfiguration())
                : TrafficMeter.NONE;
        long before = meter.bytesRead();
        real = format.createRecordReader(split, context);
        bytesRead = meter.bytesRead() - before;
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) throws IOException, InterruptedException {
        long before = meter.bytesRead();
        real.initialize(split, context);
        bytesRead += meter.bytesRead() - before;
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        reporter.check();
        long before = meter.bytesRead();
        boolean found = real.nextKeyValue();
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
        long before = meter.bytesRead();
        try {
            real.close();
        } finally {
            bytesRead += meter.bytesRead() - before;
            count();
        }
    }
}
