package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.MapRunnable;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.ImmutableOutput;

/** Who promises to leave pairs as they are gets them as they are: from map to reduce, and from job to job. */
@Timeout(120)
class ImmutableOutputTest {
    private static final int PAIRS = 40;
    private static final Set<Object> MAPPED = identities();
    private static final Set<Object> REDUCED = identities();

    @TempDir
    Path folder;

    private Configuration conf;
    private Path in;
    private int jobs;

    private static Set<Object> identities() {
        return Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    @BeforeEach
    void writeInput() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        in = folder.resolve("in");
        MAPPED.clear();
        REDUCED.clear();
        try (SequenceFile.Writer writer = SequenceFile.createWriter(
                conf,
                SequenceFile.Writer.file(hadoop(in)),
                SequenceFile.Writer.keyClass(IntWritable.class),
                SequenceFile.Writer.valueClass(BytesWritable.class))) {
            for (int i = 0; i < PAIRS; i++) {
                byte[] bytes = new byte[i % 2 == 0 ? 1000 : 10];
                bytes[0] = (byte) i;
                writer.append(new IntWritable(i * 7 % PAIRS), new BytesWritable(bytes));
            }
        }
    }

    private static org.apache.hadoop.fs.Path hadoop(Path path) {
        return new org.apache.hadoop.fs.Path(path.toUri());
    }

    private Job job(Configuration configuration, Path from, Path out) throws IOException {
        Job job = Job.getInstance(configuration);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setMapperClass(Passing.class);
        job.setReducerClass(Collecting.class);
        job.setNumReduceTasks(2);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(BytesWritable.class);
        FileInputFormat.addInputPath(job, hadoop(from));
        FileOutputFormat.setOutputPath(job, hadoop(out));
        return job;
    }

    private Path newFolder() {
        return folder.resolve("out" + jobs++);
    }

    private static void note(Set<Object> seen, BytesWritable value) {
        if (value.getLength() == 1000) {
            seen.add(value);
        }
    }

    static class Passing extends Mapper<IntWritable, BytesWritable, IntWritable, BytesWritable>
            implements ImmutableOutput {
        @Override
        protected void map(IntWritable key, BytesWritable value, Context context)
                throws IOException, InterruptedException {
            note(MAPPED, value);
            context.write(key, value);
        }
    }

    static class Collecting extends Reducer<IntWritable, BytesWritable, IntWritable, BytesWritable>
            implements ImmutableOutput {
        @Override
        protected void reduce(IntWritable key, Iterable<BytesWritable> values, Context context)
                throws IOException, InterruptedException {
            for (BytesWritable value : values) {
                note(REDUCED, value);
                context.write(key, value);
            }
        }
    }

    /** Makes no promise, and changes the objects that it is given. */
    static class Spoiling extends Mapper<IntWritable, BytesWritable, IntWritable, BytesWritable> {
        @Override
        protected void map(IntWritable key, BytesWritable value, Context context)
                throws IOException, InterruptedException {
            note(MAPPED, value);
            value.getBytes()[0]++;
            key.set(3);
            context.write(key, value);
        }
    }

    @Test
    void passesTheSameObjectsFromMapToReduceAndToTheNextJob() throws Exception {
        Path out = newFolder();
        Job first = job(conf, in, out);
        assertTrue(first.waitForCompletion(false));
        assertEquals(PAIRS / 2, MAPPED.size());
        assertEquals(MAPPED, REDUCED);
        Job second = job(conf, out, newFolder());
        assertTrue(second.waitForCompletion(false));
        assertEquals(
                2, second.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        assertEquals(PAIRS / 2, MAPPED.size(), "objects of the first job are those of the second");
        assertEquals(MAPPED, REDUCED);
    }

    @Test
    void hasTheOutputAndTheCountersOfTheLocalRunner() throws Exception {
        Path ours = newFolder();
        Path right = newFolder();
        Job job = job(conf, in, ours);
        Job local = job(Engines.LOCAL.conf(folder.resolve("tmp")), in, right);
        assertTrue(job.waitForCompletion(false));
        assertTrue(local.waitForCompletion(false));
        assertEquals(pairs(right), pairs(ours));
        for (TaskCounter counter : List.of(
                TaskCounter.MAP_INPUT_RECORDS,
                TaskCounter.MAP_OUTPUT_RECORDS,
                TaskCounter.MAP_OUTPUT_BYTES,
                TaskCounter.REDUCE_INPUT_GROUPS,
                TaskCounter.REDUCE_INPUT_RECORDS,
                TaskCounter.REDUCE_OUTPUT_RECORDS)) {
            assertEquals(
                    local.getCounters().findCounter(counter).getValue(),
                    job.getCounters().findCounter(counter).getValue(),
                    counter.name());
        }
    }

    private String pairs(Path out) throws IOException {
        StringBuilder pairs = new StringBuilder();
        for (int part = 0; part < 2; part++) {
            Path file = out.resolve("part-r-0000" + part);
            try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, SequenceFile.Reader.file(hadoop(file)))) {
                IntWritable key = new IntWritable();
                BytesWritable value = new BytesWritable();
                while (reader.next(key, value)) {
                    pairs.append(part)
                            .append(' ')
                            .append(key)
                            .append(' ')
                            .append(value)
                            .append('\n');
                }
            }
        }
        return pairs.toString();
    }

    @Test
    void givesCopiesToWhoeverPromisesNothing() throws Exception {
        Path first = newFolder();
        assertTrue(job(conf, in, first).waitForCompletion(false));
        String before = pairs(first);
        Job spoiling = job(conf, first, newFolder());
        spoiling.setMapperClass(Spoiling.class);
        assertTrue(spoiling.waitForCompletion(false));
        assertEquals(
                2, spoiling.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        Path again = newFolder();
        Job third = job(conf, first, again);
        assertTrue(third.waitForCompletion(false));
        assertEquals(
                2, third.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        assertEquals(before, pairs(again));
        assertEquals(before, pairs(first));
    }

    @Test
    void serialisesForAReducerThatPromisesNothing() throws Exception {
        Path out = newFolder();
        Job job = job(conf, in, out);
        job.setReducerClass(Changing.class);
        assertTrue(job.waitForCompletion(false));
        MAPPED.retainAll(REDUCED);
        assertEquals(Set.of(), MAPPED);
        Path again = newFolder();
        assertTrue(job(conf, in, again).waitForCompletion(false));
        Path right = newFolder();
        assertTrue(job(Engines.LOCAL.conf(folder.resolve("tmp")), in, right).waitForCompletion(false));
        assertEquals(pairs(right), pairs(again));
    }

    static class Changing extends Reducer<IntWritable, BytesWritable, IntWritable, BytesWritable> {
        @Override
        protected void reduce(IntWritable key, Iterable<BytesWritable> values, Context context)
                throws IOException, InterruptedException {
            for (BytesWritable value : values) {
                note(REDUCED, value);
                value.getBytes()[0]++;
                context.write(key, value);
            }
        }
    }

    /** The first job of a runner writes pairs and the second reads them; none is copied on its way to a reduce. */
    @Test
    void passesTheObjectsOfARunnerOfTheProgramsOwn() throws Exception {
        Path from = in;
        for (int i = 0; i < 2; i++) {
            MAPPED.clear();
            REDUCED.clear();
            JobConf job = new JobConf(conf);
            job.setInputFormat(org.apache.hadoop.mapred.SequenceFileInputFormat.class);
            job.setOutputFormat(org.apache.hadoop.mapred.SequenceFileOutputFormat.class);
            job.setMapRunnerClass(OldRunner.class);
            job.setReducerClass(OldCollecting.class);
            job.setOutputKeyClass(IntWritable.class);
            job.setOutputValueClass(BytesWritable.class);
            org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, from.toString());
            from = newFolder();
            org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(job, hadoop(from));
            JobClient.runJob(job);
            assertEquals(PAIRS / 2, MAPPED.size());
            assertEquals(MAPPED, REDUCED);
        }
    }

    static class OldRunner
            implements MapRunnable<IntWritable, BytesWritable, IntWritable, BytesWritable>, ImmutableOutput {
        @Override
        public void configure(JobConf job) {}

        @Override
        public void run(
                RecordReader<IntWritable, BytesWritable> in,
                OutputCollector<IntWritable, BytesWritable> out,
                Reporter reporter)
                throws IOException {
            IntWritable key = in.createKey();
            BytesWritable value = in.createValue();
            while (in.next(key, value)) {
                note(MAPPED, value);
                out.collect(key, value);
                key = in.createKey();
                value = in.createValue();
            }
        }
    }

    @Test
    void passesObjectsThroughTheOlderInterface() throws Exception {
        JobConf job = new JobConf(conf);
        job.setInputFormat(org.apache.hadoop.mapred.SequenceFileInputFormat.class);
        job.setOutputFormat(org.apache.hadoop.mapred.SequenceFileOutputFormat.class);
        job.setMapperClass(OldPassing.class);
        job.setReducerClass(OldCollecting.class);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(BytesWritable.class);
        org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, in.toString());
        Path out = newFolder();
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(job, hadoop(out));
        JobClient.runJob(job);
        assertEquals(PAIRS / 2, MAPPED.size());
        assertEquals(MAPPED, REDUCED);
        job.setNumMapTasks(1);
        org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, out.toString());
        org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(job, hadoop(newFolder()));
        JobClient.runJob(job);
        assertEquals(PAIRS / 2, MAPPED.size(), "objects of the first job are those of the second");
    }

    static class OldPassing extends MapReduceBase
            implements org.apache.hadoop.mapred.Mapper<IntWritable, BytesWritable, IntWritable, BytesWritable>,
                    ImmutableOutput {
        @Override
        public void map(
                IntWritable key,
                BytesWritable value,
                OutputCollector<IntWritable, BytesWritable> out,
                Reporter reporter)
                throws IOException {
            note(MAPPED, value);
            out.collect(key, value);
        }
    }

    static class OldCollecting extends MapReduceBase
            implements org.apache.hadoop.mapred.Reducer<IntWritable, BytesWritable, IntWritable, BytesWritable>,
                    ImmutableOutput {
        @Override
        public void reduce(
                IntWritable key,
                Iterator<BytesWritable> values,
                OutputCollector<IntWritable, BytesWritable> out,
                Reporter reporter)
                throws IOException {
            while (values.hasNext()) {
                BytesWritable value = values.next();
                note(REDUCED, value);
                out.collect(key, value);
            }
        }
    }
}
