package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;

/** Counts the input of a map task's record reader, of either interface: records, and bytes of the split's file system. */
final class InputCounts {
    private final TaskReporter reporter;
    private TrafficMeter meter;
    private final Counters.Counter bytes;
    private final Counters.Counter records;
    private long bytesRead;
    private long recordsRead;
    private int asks;

    /**
     * @param file that the split is of, or null
     */
    InputCounts(Path file, Configuration conf, TaskReporter reporter) throws IOException {
        this.reporter = reporter;
        meter = TrafficMeter.of(file, conf);
        bytes = reporter.getCounter(FileInputFormatCounter.BYTES_READ);
        records = reporter.getCounter(TaskCounter.MAP_INPUT_RECORDS);
    }

    /** Notes that nothing is read from the file from now on, because its pairs are in memory. */
    void readNoMore() {
        meter = TrafficMeter.NONE;
    }

    /** Returns the thread's bytes before something is read. */
    long before() {
        return meter.bytesRead();
    }

    /** Counts the bytes that were read since. */
    void addBytes(long before) {
        bytesRead += meter.bytesRead() - before;
    }

    /** Counts a record; all counts and the progress are reported if somebody has asked for them. */
    void addRecord() {
        recordsRead++;
        if (asks != reporter.asks()) {
            asks = reporter.asks();
            report();
            reporter.updateProgress();
        }
    }

    /** Adds the counts so far to the counters. */
    void report() {
        bytes.increment(bytesRead);
        records.increment(recordsRead - records.getValue());
        bytesRead = 0;
    }
}
