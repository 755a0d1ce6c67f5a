package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A file that cannot be cut is one task, which a free slot helps: with the output and counters of Hadoop's local runner. */
@Timeout(120)
class OneSplitTest {
    private static final int LINES = 100_000;

    @TempDir
    Path folder;

    private Path text;

    @BeforeEach
    void compress() throws Exception {
        Random random = new Random(1);
        text = folder.resolve("in.txt.gz");
        try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(text))) {
            for (int i = 0; i < LINES; i++) {
                String line = "key" + (i * 7919L % LINES) + " word" + random.nextInt(30_000) + "\n";
                out.write(line.getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    private Job run(Engines engine, boolean combine) throws Exception {
        Configuration conf = engine.conf(folder.resolve("tmp-" + engine));
        conf.setInt("mapreduce.task.io.sort.mb", 1);
        Job job = Jobs.wordCount(conf, text, folder.resolve(engine + "-" + combine));
        if (!combine) {
            job.getConfiguration().unset("mapreduce.job.combine.class");
        }
        assertTrue(job.waitForCompletion(false));
        return job;
    }

    private void comparesToTheLocalRunner(boolean combine) throws Exception {
        Job local = run(Engines.LOCAL, combine);
        Job ours = run(Engines.TEGULA, combine);
        assertEquals(1, ours.getTaskReports(TaskType.MAP).length);
        String part = "part-r-00000";
        assertArrayEquals(
                Files.readAllBytes(folder.resolve(Engines.LOCAL + "-" + combine).resolve(part)),
                Files.readAllBytes(
                        folder.resolve(Engines.TEGULA + "-" + combine).resolve(part)));
        for (TaskCounter counter : new TaskCounter[] {
            TaskCounter.MAP_INPUT_RECORDS,
            TaskCounter.MAP_OUTPUT_RECORDS,
            TaskCounter.MAP_OUTPUT_BYTES,
            TaskCounter.REDUCE_INPUT_GROUPS,
            TaskCounter.REDUCE_OUTPUT_RECORDS
        }) {
            assertEquals(
                    local.getCounters().findCounter(counter).getValue(),
                    ours.getCounters().findCounter(counter).getValue(),
                    counter.name());
        }
    }

    @Test
    void combinesAsTheLocalRunnerDoes() throws Exception {
        comparesToTheLocalRunner(true);
    }

    @Test
    void sortsAsTheLocalRunnerDoes() throws Exception {
        comparesToTheLocalRunner(false);
    }

    /** The helper has part of the task's pairs when the mapper throws; nothing of either stays. */
    @Test
    void failsAndLeavesNothingWhileItIsHelped() throws Exception {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setInt("mapreduce.task.io.sort.mb", 1);
        conf.setInt("mapreduce.map.maxattempts", 1);
        for (boolean combine : new boolean[] {false, true}) {
            Job job = Jobs.wordCount(conf, text, folder.resolve("out" + combine));
            job.setMapperClass(ThrowsLate.class);
            if (!combine) {
                job.getConfiguration().unset("mapreduce.job.combine.class");
            }
            assertEquals(false, job.waitForCompletion(false));
            assertTrue(job.getStatus().getFailureInfo().contains("late"));
            assertEquals(
                    0, org.tegula.hadoop.engine.Engine.shared(conf).memory().usedBytes());
        }
    }

    static class ThrowsLate extends Jobs.Words {
        private int lines;

        @Override
        public void run(Context context) throws java.io.IOException, InterruptedException {
            setup(context);
            while (context.nextKeyValue()) {
                if (++lines == LINES - 1) {
                    throw new IllegalStateException("late");
                }
                map(context.getCurrentKey(), context.getCurrentValue(), context);
            }
        }
    }
}
