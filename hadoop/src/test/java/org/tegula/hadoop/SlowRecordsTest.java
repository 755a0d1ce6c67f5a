package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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

/** A task lives as long as its records come, however slowly, and reports its progress. */
@Timeout(60)
class SlowRecordsTest {
    private static final int RECORDS = 7;
    private static final Semaphore NEXT = new Semaphore(0);
    private static final Semaphore DONE = new Semaphore(0);

    @TempDir
    Path folder;

    private Configuration conf;
    private Path in;

    @BeforeEach
    void writeInput() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setInt("mapreduce.task.timeout", 2500);
        conf.setInt("mapreduce.task.timeout.check-interval-ms", 200);
        conf.setInt("mapreduce.map.maxattempts", 1);
        conf.setInt("mapreduce.reduce.maxattempts", 1);
        in = Files.writeString(folder.resolve("in.txt"), "word\n".repeat(RECORDS));
    }

    private Job job(String name) throws IOException {
        return Jobs.wordCount(conf, in, folder.resolve(name));
    }

    private static void takeTime() throws InterruptedException {
        Thread.sleep(450);
    }

    /** The slow stage takes longer than a task may be silent, and each record a fifth of that. */
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

    /** A silent task ends well before anybody looks for silent tasks. */
    @Test
    void silentTasksAreLookedForAtTheIntervalThatAJobSets() throws Exception {
        conf.setInt("mapreduce.task.timeout", 200);
        conf.setInt("mapreduce.task.timeout.check-interval-ms", 100_000);
        Job job = job("silent");
        job.setMapperClass(Silent.class);
        assertTrue(job.waitForCompletion(false), job.getStatus().getFailureInfo());
    }

    static class Silent extends Jobs.Words {
        @Override
        protected void setup(Context context) throws IOException, InterruptedException {
            Thread.sleep(2_500);
        }
    }

    /** With the record that follows the question. */
    @Test
    void progressAndCountersGoOnWhenSomebodyAsks() throws Exception {
        Job job = job("out");
        job.setMapperClass(OneByOne.class);
        job.submit();
        for (int record = 1; record < RECORDS; record++) {
            job.getCounters();
            NEXT.release();
            assertTrue(DONE.tryAcquire(30, TimeUnit.SECONDS));
        }
        long counted =
                job.getCounters().findCounter(TaskCounter.MAP_OUTPUT_RECORDS).getValue();
        assertTrue(counted > 0 && counted < RECORDS, counted + " records");
        assertTrue(job.getCounters().findCounter(TaskCounter.MAP_INPUT_RECORDS).getValue() > 0);
        NEXT.release(RECORDS);
        assertTrue(job.waitForCompletion(false));
        assertEquals(
                RECORDS,
                job.getCounters().findCounter(TaskCounter.MAP_OUTPUT_RECORDS).getValue());
    }

    static class OneByOne extends Jobs.Words {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            NEXT.acquire();
            super.map(place, line, context);
            DONE.release();
        }
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
