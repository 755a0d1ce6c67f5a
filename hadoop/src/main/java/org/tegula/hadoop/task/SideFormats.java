package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.OutputFormat;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Progressable;

/**
 * Keeps the pairs of sequence files that a task writes by {@code MultipleOutputs}, or {@code LazyOutputFormat}, of either interface.
 * A program names their formats in its configuration, and Hadoop makes them in the task: in the place of
 * {@code SequenceFileOutputFormat} itself, the task's configuration has a subclass that has the same files written.
 */
final class SideFormats {
    private static final String NEW_NAMES = "mapreduce.multipleoutputs";
    private static final String OLD_NAMES = "mo.namedOutputs";
    private static final String OLD_PREFIX = "mo.namedOutput.";
    private static final String FORMAT = ".format";
    private static final String LAZY = "mapreduce.output.lazyoutputformat.outputformat";

    private SideFormats() {}

    /** Names the subclasses in the configuration of a task that has looked up the class of its own output format. */
    static void replace(JobConf conf) {
        replaceNew(conf, MRJobConfig.OUTPUT_FORMAT_CLASS_ATTR);
        replaceNew(conf, LAZY);
        replaceOld(conf, LAZY);
        for (String name : conf.get(NEW_NAMES, "").split(" ")) {
            replaceNew(conf, NEW_NAMES + ".namedOutput." + name + FORMAT);
        }
        for (String name : conf.get(OLD_NAMES, "").split(" ")) {
            replaceOld(conf, OLD_PREFIX + name + FORMAT);
        }
    }

    private static void replaceNew(JobConf conf, String setting) {
        if (SequenceFileOutputFormat.class.getName().equals(conf.get(setting))) {
            conf.setClass(setting, OfMapreduce.class, org.apache.hadoop.mapreduce.OutputFormat.class);
        }
    }

    private static void replaceOld(JobConf conf, String setting) {
        if (org.apache.hadoop.mapred.SequenceFileOutputFormat.class.getName().equals(conf.get(setting))) {
            conf.setClass(setting, OfMapred.class, OutputFormat.class);
        }
    }

    /** In the place of the format of the {@code mapreduce} interface. */
    static final class OfMapreduce extends SequenceFileOutputFormat<Object, Object> {
        /** Made by Hadoop. */
        OfMapreduce() {}

        @Override
        public RecordWriter<Object, Object> getRecordWriter(TaskAttemptContext context)
                throws IOException, InterruptedException {
            Attempt attempt = RunningAttempts.of(context.getConfiguration());
            if (attempt == null) {
                return super.getRecordWriter(context);
            }
            Path file = getDefaultWorkFile(context, "");
            PairsRecordWriter pairs = getCompressOutput(context)
                    ? null
                    : attempt.pairsOf(file, context.getOutputKeyClass(), context.getOutputValueClass());
            return pairs == null
                    ? SideWriter.of(attempt, file, super.getRecordWriter(context))
                    : SideWriter.of(attempt, pairs);
        }
    }

    /** In the place of the format of the {@code mapred} interface. */
    static final class OfMapred extends org.apache.hadoop.mapred.SequenceFileOutputFormat<Object, Object> {
        /** Made by Hadoop. */
        OfMapred() {}

        @Override
        public org.apache.hadoop.mapred.RecordWriter<Object, Object> getRecordWriter(
                FileSystem ignored, JobConf conf, String name, Progressable progress) throws IOException {
            Attempt attempt = RunningAttempts.of(conf);
            if (attempt == null) {
                return super.getRecordWriter(ignored, conf, name, progress);
            }
            Path file = FileOutputFormat.getTaskOutputPath(conf, name);
            PairsRecordWriter pairs = getCompressOutput(conf)
                    ? null
                    : attempt.pairsOf(file, conf.getOutputKeyClass(), conf.getOutputValueClass());
            return pairs == null
                    ? SideWriter.of(
                            attempt, file, SideWriter.adapted(super.getRecordWriter(ignored, conf, name, progress)))
                    : SideWriter.of(attempt, pairs);
        }
    }
}
