package org.tegula.hadoop.task;

import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.OutputFormat;
import org.apache.hadoop.mapred.RecordWriter;
import org.apache.hadoop.mapred.SequenceFileOutputFormat;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.cache.CachedOutput;

/** A program's record writer of the {@code mapred} interface, counted. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class OldTrackedWriter implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(OldTrackedWriter.class);

    private final TaskReporter reporter;
    private final TrafficMeter meter;
    /** For each record; pairs that stay in memory are counted at the end. */
    private final TrafficMeter recordMeter;

    private final Counters.Counter bytes;
    private final Counters.Counter records;
    private final CachedOutput copy;
    private RecordWriter real;

    OldTrackedWriter(Attempt attempt, TaskCounter counter) throws IOException {
        JobConf conf = attempt.conf;
        OutputFormat format = conf.getOutputFormat();
        String name = attempt.outputName();
        reporter = attempt.reporter;
        meter = format instanceof FileOutputFormat
                ? TrafficMeter.of(FileOutputFormat.getOutputPath(conf), conf)
                : TrafficMeter.NONE;
        bytes = reporter.getCounter(FileOutputFormatCounter.BYTES_WRITTEN);
        records = reporter.getCounter(counter);
        Path file = format.getClass() == SequenceFileOutputFormat.class
                ? FileOutputFormat.getTaskOutputPath(conf, name)
                : null;
        real = file == null || FileOutputFormat.getCompressOutput(conf)
                ? null
                : attempt.pairsOf(file, conf.getOutputKeyClass(), conf.getOutputValueClass());
        recordMeter = real == null ? meter : TrafficMeter.NONE;
        if (real != null) {
            copy = null;
            return;
        }
        long before = meter.bytesWritten();
        real = format.getRecordWriter(FileSystem.get(conf), conf, name, reporter);
        bytes.increment(meter.bytesWritten() - before);
        copy = file == null ? null : attempt.copyOf(file);
    }

    synchronized void write(Object key, Object value) throws IOException {
        reporter.check();
        long before = recordMeter.bytesWritten();
        real.write(key, value);
        bytes.increment(recordMeter.bytesWritten() - before);
        records.increment(1);
        if (copy != null) {
            copy.add(key, value);
        }
        reporter.progress();
    }

    /** Closes the writer of a task that went well. */
    synchronized void finish() throws IOException {
        RecordWriter writer = real;
        real = null;
        long before = meter.bytesWritten();
        writer.close(reporter);
        bytes.increment(meter.bytesWritten() - before);
        if (copy != null) {
            copy.finish();
        }
    }

    /** Closes the writer of a task that failed, whose output is aborted anyway. */
    @Override
    public synchronized void close() {
        if (real != null) {
            try {
                real.close(reporter);
            } catch (IOException | RuntimeException e) {
                LOG.info("A record writer of a failed task could not be closed", e);
            }
        }
    }
}
