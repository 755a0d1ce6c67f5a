package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.engine.Engine;

/** A task lives as long as its records come, however few they are, and says how far it is. */
@Timeout(60)
class SlowRecordsTest {
    private static final int RECORDS = 6;

    @TempDir
    Path folder;

    private Configuration conf;
    private Path in;

    @BeforeEach
    void writeInput() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setInt("mapreduce.task.timeout", 700);
        conf.setInt("mapreduce.map.maxattempts", 1);
        conf.setInt("mapreduce.reduce.maxattempts", 1);
        in = Files.writeString(folder.resolve("in.txt"), "word\n".repeat(RECORDS));
    }

    private Job job(String name) throws IOException {
        return Jobs.wordCount(conf, in, folder.resolve(name));
    }

    private static void takeTime() throws InterruptedException {
        Thread.sleep(400);
    }

    /** What is slow takes three times the time that a task may be silent. */
    @Test
    void eachRecordIsASignOfLife() throws Exception {
        List<Job> jobs = new ArrayList<>();
        for (Class<? extends Mapper<LongWritable, Text, Text, IntWritable>> mapper :
                List.of(SlowMapper.class, SlowEmitter.class)) {
            Job mapping = job(mapper.getSimpleName());
            mapping.setMapperClass(mapper);
            jobs.add(mapping);
        }
        Job combining = job("combining");
        combining.setCombinerClass(SlowReducer.class);
        jobs.add(combining);
        Job reducing = job("reducing");
        reducing.getConfiguration().unset("mapreduce.job.combine.class");
        reducing.setReducerClass(SlowReducer.class);
        jobs.add(reducing);
        for (Job each : jobs) {
            each.submit();
        }
        for (Job each : jobs) {
            assertTrue(each.waitForCompletion(false), each.getStatus().getFailureInfo());
        }
    }

    @Test
    void progressAndCountersGoOnWithEachRecord() throws Exception {
        Job job = job("out");
        job.setMapperClass(SlowMapper.class);
        job.submit();
        long seen = 0;
        while (seen == 0 || seen == RECORDS) {
            assertTrue(!job.isComplete(), "no record was counted while the map ran");
            seen = job.getCounters() == null
                    ? 0
                    : job.getCounters()
                            .findCounter(TaskCounter.MAP_OUTPUT_RECORDS)
                            .getValue();
            Thread.sleep(20);
        }
        assertTrue(job.mapProgress() > 0);
        assertTrue(job.waitForCompletion(false));
        assertEquals(
                RECORDS,
                job.getCounters().findCounter(TaskCounter.MAP_OUTPUT_RECORDS).getValue());
        assertEquals(0, Engine.shared(conf).memory().usedBytes());
    }

    static class SlowMapper extends Jobs.Words {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            takeTime();
            super.map(place, line, context);
        }
    }

    static class SlowEmitter extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            for (int i = 0; i < RECORDS && place.get() == 0; i++) {
                takeTime();
                context.write(line, new IntWritable(1));
            }
        }
    }

    static class SlowReducer extends Reducer<Text, IntWritable, Text, IntWritable> {
        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            int sum = 0;
            for (IntWritable value : values) {
                takeTime();
                sum += value.get();
            }
            context.write(key, new IntWritable(sum));
        }
    }
}
