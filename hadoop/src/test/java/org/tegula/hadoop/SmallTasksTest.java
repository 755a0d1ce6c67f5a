package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** However little a task has to do, it is a task of its own for all that a program sees. */
@Timeout(120)
class SmallTasksTest {
    private static final int FILES = 30;

    @TempDir
    Path folder;

    private Path input() throws IOException {
        Path in = Files.createDirectories(folder.resolve("in"));
        for (int i = 0; i < FILES; i++) {
            Files.writeString(in.resolve(String.format("f%02d", i)), "word ".repeat(i % 7) + (i % 7 == 0 ? "" : "\n"));
        }
        return in;
    }

    /** Writes where it is in the life of its task, and changes the configuration, which is the task's own. */
    static class Diary extends Mapper<LongWritable, Text, Text, IntWritable> {
        private int lines;

        @Override
        protected void setup(Context context) throws IOException, InterruptedException {
            Configuration conf = context.getConfiguration();
            context.write(new Text("before " + conf.get("diary.mark")), new IntWritable(lines));
            conf.set("diary.mark", context.getTaskAttemptID().getTaskID().getId() + " was here");
            context.write(
                    new Text("partition " + conf.get("mapred.task.partition") + conf.get(JobContext.TASK_ISMAP)),
                    new IntWritable(context.getTaskAttemptID().getId()));
        }

        @Override
        protected void map(LongWritable place, Text line, Context context) {
            lines++;
            context.getCounter("diary", "lines").increment(1);
        }

        @Override
        protected void cleanup(Context context) throws IOException, InterruptedException {
            context.write(new Text("after " + context.getConfiguration().get("diary.mark")), new IntWritable(lines));
        }
    }

    private Job diary(Engines engine, Path in, int reduces) throws Exception {
        Configuration conf = engine.conf(folder.resolve("tmp"));
        conf.set("diary.mark", "nobody");
        Job job = Jobs.wordCount(conf, in, folder.resolve(engine + "-" + reduces));
        job.setMapperClass(Diary.class);
        job.setNumReduceTasks(reduces);
        assertTrue(job.waitForCompletion(false));
        return job;
    }

    @Test
    void setUpAndCleanUpEachTaskAndHavePartFilesOfTheirOwn() throws Exception {
        Path in = input();
        for (int reduces : new int[] {0, 2}) {
            Counters right = diary(Engines.LOCAL, in, reduces).getCounters();
            Counters ours = diary(Engines.TEGULA, in, reduces).getCounters();
            assertEquals(
                    Trees.read(folder.resolve("LOCAL-" + reduces)), Trees.read(folder.resolve("TEGULA-" + reduces)));
            for (Enum<?> counter : List.of(
                    TaskCounter.MAP_INPUT_RECORDS,
                    TaskCounter.MAP_OUTPUT_RECORDS,
                    TaskCounter.SPLIT_RAW_BYTES,
                    TaskCounter.COMBINE_INPUT_RECORDS,
                    TaskCounter.COMBINE_OUTPUT_RECORDS,
                    TaskCounter.REDUCE_INPUT_RECORDS)) {
                assertEquals(
                        right.findCounter(counter).getValue(),
                        ours.findCounter(counter).getValue(),
                        counter.name());
            }
            assertEquals(
                    right.findCounter("diary", "lines").getValue(),
                    ours.findCounter("diary", "lines").getValue());
        }
    }
}
