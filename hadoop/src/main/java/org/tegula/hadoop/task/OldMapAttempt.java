package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.MapRunnable;
import org.apache.hadoop.mapred.Mapper;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Partitioner;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.collect.Collector;

/** A map task of the {@code mapred} interface. */
@SuppressWarnings({"unchecked", "rawtypes"}) // types of keys and values are known to the program alone
final class OldMapAttempt extends MapAttempt {
    OldMapAttempt(JobResources job, TaskAttemptID id, int slot, JobSplit.TaskSplitIndex split) {
        super(job, id, slot, split);
    }

    @Override
    boolean usesNewInterface() {
        return false;
    }

    @Override
    void mapToOutput() throws IOException {
        try (OldTrackedWriter writer = new OldTrackedWriter(this, TaskCounter.MAP_OUTPUT_RECORDS)) {
            map(writer::write);
            writer.finish();
        }
    }

    @Override
    void mapToRuns(Collector<Object, Object> collector) throws IOException {
        int partitions = conf.getNumReduceTasks();
        Partitioner partitioner = partitions > 1 ? ReflectionUtils.newInstance(conf.getPartitionerClass(), conf) : null;
        map((key, value) -> {
            reporter.check();
            try {
                collector.collect(
                        key, value, partitioner == null ? 0 : partitioner.getPartition(key, value, partitions));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupt exception", e);
            }
        });
    }

    private void map(OutputCollector output) throws IOException {
        InputSplit input = job.splits().read(split, conf, reporter.getCounter(TaskCounter.SPLIT_RAW_BYTES)::increment);
        if (input instanceof FileSplit file) {
            conf.set(JobContext.MAP_INPUT_FILE, file.getPath().toString());
            conf.setLong(JobContext.MAP_INPUT_START, file.getStart());
            conf.setLong(JobContext.MAP_INPUT_PATH, file.getLength());
        }
        reporter.setSplit(input);
        Inputs inputs = inputs(input);
        try (OldTrackedReader reader = OldTrackedReader.open(inputs, input, conf, reporter)) {
            watch(reader::getProgress);
            if (inputs.arePromised()) {
                mapEach(reader, output);
            } else {
                MapRunnable runner = ReflectionUtils.newInstance(conf.getMapRunnerClass(), conf);
                runner.run(reader, output, reporter);
            }
        }
    }

    /** Runs the mapper like Hadoop's runner, but with new objects for every pair. */
    private void mapEach(OldTrackedReader reader, OutputCollector output) throws IOException {
        Mapper mapper = ReflectionUtils.newInstance(conf.getMapperClass(), conf);
        try {
            while (reader.advance()) {
                mapper.map(reader.key(), reader.value(), output, reporter);
            }
        } finally {
            mapper.close();
        }
    }
}
