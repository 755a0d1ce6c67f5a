package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.map.WrappedMapper;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.apache.hadoop.mapreduce.task.MapContextImpl;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.collect.Collector;

/** A map task of the {@code mapreduce} interface. */
@SuppressWarnings({"unchecked", "rawtypes"}) // types of keys and values are known to the program alone
final class NewMapAttempt extends MapAttempt {
    NewMapAttempt(JobResources job, TaskAttemptID id, int slot, JobSplit.TaskSplitIndex split) {
        super(job, id, slot, split);
    }

    @Override
    boolean usesNewInterface() {
        return true;
    }

    @Override
    void mapToOutput() throws IOException, InterruptedException, ClassNotFoundException {
        TaskAttemptContext context = new TaskAttemptContextImpl(conf, id, reporter);
        NewTrackedWriter writer = new NewTrackedWriter(newOutputFormat, context, this, TaskCounter.MAP_OUTPUT_RECORDS);
        try {
            map(context, writer);
            writer.close(context);
        } finally {
            writer.closeQuietly(context);
        }
    }

    @Override
    void mapToRuns(Collector<Object, Object> collector)
            throws IOException, InterruptedException, ClassNotFoundException {
        TaskAttemptContext context = new TaskAttemptContextImpl(conf, id, reporter);
        int partitions = conf.getNumReduceTasks();
        Partitioner partitioner =
                partitions > 1 ? ReflectionUtils.newInstance(context.getPartitionerClass(), conf) : null;
        map(context, new RecordWriter<>() {
            @Override
            public void write(Object key, Object value) throws IOException, InterruptedException {
                reporter.check();
                collector.collect(
                        key, value, partitioner == null ? 0 : partitioner.getPartition(key, value, partitions));
            }

            @Override
            public void close(TaskAttemptContext ignored) {}
        });
    }

    private void map(TaskAttemptContext context, RecordWriter<Object, Object> output)
            throws IOException, InterruptedException, ClassNotFoundException {
        Mapper mapper = ReflectionUtils.newInstance(context.getMapperClass(), conf);
        InputSplit input = job.splits().read(split, conf, reporter.getCounter(TaskCounter.SPLIT_RAW_BYTES)::increment);
        Class format = context.getInputFormatClass();
        Inputs inputs = inputs(input);
        try (NewTrackedReader reader =
                NewTrackedReader.open(() -> inputs.open(input, format, context), input, context, reporter)) {
            Mapper.Context mapContext = new WrappedMapper()
                    .getMapContext(new MapContextImpl(conf, id, reader, output, committer, reporter, input));
            reader.initialize(input, mapContext);
            watch(reader::getProgress);
            mapper.run(mapContext);
        }
    }
}
