package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.util.ReflectionUtils;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.ImmutableOutput;

/** Pairs that are copied for a mapper which promises to leave them as they are: as its own job has them written and read. */
@Timeout(60)
class CopiedPairsTest {
    private static final String COLUMN = "test.column";

    @TempDir
    Path folder;

    @BeforeEach
    void writeInput() throws IOException {
        Files.writeString(folder.resolve("in"), "x\n");
    }

    private Configuration conf(String column) {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.set(COLUMN, column);
        conf.setInt("mapreduce.map.maxattempts", 1);
        return conf;
    }

    /** What a job of the mapred interface reads by a reader that lends its buffers. */
    private String old(Configuration conf, Class<? extends OldRows> format, String name) throws IOException {
        JobConf job = new JobConf(conf);
        job.setInputFormat(format);
        job.setMapperClass(OldPassing.class);
        job.setNumMapTasks(1);
        job.setNumReduceTasks(0);
        org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, hadoop("in"));
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(job, hadoop(name));
        assertTrue(JobClient.runJob(job).isSuccessful());
        return Files.readString(folder.resolve(name + "/part-00000")).strip();
    }

    private Job job(Configuration conf, String name) throws IOException {
        Job job = Job.getInstance(conf);
        job.setInputFormatClass(NewRows.class);
        job.setMapperClass(NewPassing.class);
        job.setNumReduceTasks(0);
        org.apache.hadoop.mapreduce.lib.input.FileInputFormat.addInputPath(job, hadoop("in"));
        org.apache.hadoop.mapreduce.lib.output.FileOutputFormat.setOutputPath(job, hadoop(name));
        return job;
    }

    private org.apache.hadoop.fs.Path hadoop(String name) {
        return new org.apache.hadoop.fs.Path(folder.resolve(name).toUri());
    }

    @Test
    void objectsAreReadWithTheSettingsOfTheirOwnJob() throws Exception {
        for (String column : List.of("A", "B")) {
            Configuration conf = conf(column);
            assertEquals(column, old(conf, OldRows.class, "old" + column));
            Job job = job(conf, "new" + column);
            assertTrue(job.waitForCompletion(false));
            assertEquals(
                    column,
                    Files.readString(folder.resolve("new" + column + "/part-m-00000"))
                            .strip());
        }
    }

    @Test
    void objectsAreCopiedByTheSerializationsOfTheirOwnJob() throws Exception {
        assertEquals("A", old(conf("A"), OldRows.class, "first"));
        Configuration conf = conf("B");
        conf.set(
                "io.serializations",
                conf.get("io.serializations") + ",org.apache.hadoop.io.serializer.JavaSerialization");
        assertEquals("[B]", old(conf, OldLists.class, "second"));
    }

    @Test
    void objectsThatCannotBeCopiedAreFilledAnew() throws Exception {
        assertEquals("[A]", old(conf("A"), OldLists.class, "out"));
    }

    @Test
    void objectsThatCanNeitherBeCopiedNorFilledAreNamed() throws Exception {
        Configuration conf = conf("A");
        conf.setBoolean("test.lists", true);
        Job job = job(conf, "out");
        assertFalse(job.waitForCompletion(false));
        String why = job.getStatus().getFailureInfo();
        assertTrue(why.contains("None of io.serializations copies a java.util.ArrayList"), why);
    }

    /** What it has read depends on a setting. */
    public static class Row extends Configured implements Writable {
        private String column;

        @Override
        public void write(DataOutput out) {}

        @Override
        public void readFields(DataInput in) {
            column = getConf().get(COLUMN);
        }

        @Override
        public String toString() {
            return column;
        }
    }

    static class OldPassing extends org.apache.hadoop.mapred.MapReduceBase
            implements org.apache.hadoop.mapred.Mapper<LongWritable, Object, Text, Text>, ImmutableOutput {
        @Override
        public void map(LongWritable key, Object value, OutputCollector<Text, Text> output, Reporter reporter)
                throws IOException {
            output.collect(new Text(value.toString()), null);
        }
    }

    static class NewPassing extends org.apache.hadoop.mapreduce.Mapper<LongWritable, Object, Text, Text>
            implements ImmutableOutput {
        @Override
        protected void map(LongWritable key, Object value, Context context) throws IOException, InterruptedException {
            context.write(new Text(value.toString()), null);
        }
    }

    static class OldRows extends org.apache.hadoop.mapred.FileInputFormat<LongWritable, Object> {
        @Override
        public org.apache.hadoop.mapred.RecordReader<LongWritable, Object> getRecordReader(
                org.apache.hadoop.mapred.InputSplit split, JobConf conf, Reporter reporter) {
            return new OneRecord(() -> ReflectionUtils.newInstance(Row.class, conf), value -> {});
        }
    }

    static class OldLists extends OldRows {
        @Override
        @SuppressWarnings("unchecked")
        public org.apache.hadoop.mapred.RecordReader<LongWritable, Object> getRecordReader(
                org.apache.hadoop.mapred.InputSplit split, JobConf conf, Reporter reporter) {
            return new OneRecord(ArrayList::new, value -> ((List<String>) value).add(conf.get(COLUMN)));
        }
    }

    private static final class OneRecord implements org.apache.hadoop.mapred.RecordReader<LongWritable, Object> {
        private final Supplier<Object> make;
        private final Consumer<Object> fill;
        private int read;

        OneRecord(Supplier<Object> make, Consumer<Object> fill) {
            this.make = make;
            this.fill = fill;
        }

        @Override
        public boolean next(LongWritable key, Object value) {
            if (read == 1) {
                return false;
            }
            read = 1;
            fill.accept(value);
            return true;
        }

        @Override
        public LongWritable createKey() {
            return new LongWritable();
        }

        @Override
        public Object createValue() {
            return make.get();
        }

        @Override
        public long getPos() {
            return read;
        }

        @Override
        public float getProgress() {
            return read;
        }

        @Override
        public void close() {}
    }

    static class NewRows extends org.apache.hadoop.mapreduce.lib.input.FileInputFormat<LongWritable, Object> {
        @Override
        public RecordReader<LongWritable, Object> createRecordReader(InputSplit split, TaskAttemptContext context) {
            Configuration conf = context.getConfiguration();
            return new OneValue(
                    conf.getBoolean("test.lists", false)
                            ? new ArrayList<>()
                            : ReflectionUtils.newInstance(Row.class, conf));
        }
    }

    private static final class OneValue extends RecordReader<LongWritable, Object> {
        private final Object value;
        private int read;

        OneValue(Object value) {
            this.value = value;
        }

        @Override
        public void initialize(InputSplit split, TaskAttemptContext context) {}

        @Override
        public boolean nextKeyValue() {
            return read++ == 0;
        }

        @Override
        public LongWritable getCurrentKey() {
            return new LongWritable();
        }

        @Override
        public Object getCurrentValue() {
            return value;
        }

        @Override
        public float getProgress() {
            return 0;
        }

        @Override
        public void close() {}
    }
}
