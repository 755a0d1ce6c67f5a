package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.cache.CachedOutput;

/** A program's record writer of the {@code mapreduce} interface, counted. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class NewTrackedWriter extends RecordWriter<Object, Object> {
    private static final Logger LOG = LoggerFactory.getLogger(NewTrackedWriter.class);

    private final Attempt attempt;
    private final TaskReporter reporter;
    private final TrafficMeter meter;
    /** For each record; pairs that stay in memory are counted at the end. */
    private final TrafficMeter recordMeter;

    private final Counters.Counter bytes;
    private final Counters.Counter records;
    private final CachedOutput copy;
    /** Whether written pairs stay in memory, perhaps as objects. */
    private final boolean keepsPairs;

    private RecordWriter real;

    NewTrackedWriter(OutputFormat format, TaskAttemptContext context, Attempt attempt, TaskCounter counter)
            throws IOException, InterruptedException {
        this.attempt = attempt;
        reporter = attempt.reporter;
        meter = format instanceof FileOutputFormat
                ? TrafficMeter.of(FileOutputFormat.getOutputPath(context), context.getConfiguration())
                : TrafficMeter.NONE;
        bytes = reporter.getCounter(FileOutputFormatCounter.BYTES_WRITTEN);
        records = reporter.getCounter(counter);
        Path file = format.getClass() == SequenceFileOutputFormat.class
                ? ((FileOutputFormat<?, ?>) format).getDefaultWorkFile(context, "")
                : null;
        real = file == null || FileOutputFormat.getCompressOutput(context)
                ? null
                : attempt.pairsOf(file, context.getOutputKeyClass(), context.getOutputValueClass());
        keepsPairs = real != null;
        recordMeter = keepsPairs ? TrafficMeter.NONE : meter;
        if (keepsPairs) {
            copy = null;
            return;
        }
        long before = meter.bytesWritten();
        real = format.getRecordWriter(context);
        bytes.increment(meter.bytesWritten() - before);
        copy = file == null ? null : attempt.copyOf(file);
    }

    @Override
    public void write(Object key, Object value) throws IOException, InterruptedException {
        reporter.check();
        long before = recordMeter.bytesWritten();
        if (keepsPairs) {
            real.write(attempt.kept(key), attempt.kept(value));
        } else {
            real.write(key, value);
        }
        bytes.increment(recordMeter.bytesWritten() - before);
        records.increment(1);
        if (copy != null) {
            copy.add(attempt.kept(key), attempt.kept(value));
        }
        reporter.progress();
    }

    /** Closes the writer of a task that went well. */
    @Override
    public void close(TaskAttemptContext context) throws IOException, InterruptedException {
        RecordWriter writer = real;
        real = null;
        if (writer != null) {
            long before = meter.bytesWritten();
            writer.close(context);
            bytes.increment(meter.bytesWritten() - before);
            if (copy != null) {
                copy.finish();
            }
        }
    }

    /** Closes the writer of a task that failed, whose output is aborted anyway. */
    void closeQuietly(TaskAttemptContext context) {
        try {
            close(context);
        } catch (IOException | InterruptedException | RuntimeException e) {
            LOG.info("A record writer of a failed task could not be closed", e);
        }
    }
}
