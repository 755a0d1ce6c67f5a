package org.tegula.hadoop.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Jobs;

/** Settings that are not looked at are named, and none of them that somebody relies on for secrecy is passed over. */
class UnusedSettingsTest {
    @TempDir
    Path folder;

    private Job job(Configuration conf) throws Exception {
        Path in = Files.writeString(folder.resolve("in.txt"), "one two\n");
        return Jobs.wordCount(conf, in, folder.resolve("out"));
    }

    @Test
    void namesWhatAJobSetsOtherwiseThanHadoop() {
        JobConf conf = new JobConf();
        assertEquals(List.of(), UnusedSettings.of(conf));
        conf.setBoolean("mapreduce.map.output.compress", true);
        conf.set("mapreduce.map.java.opts", "-Xmx2g");
        conf.set("mapreduce.job.reduce.shuffle.consumer.plugin.class", "org.example.Shuffle");
        assertEquals(
                List.of(
                        "mapreduce.map.output.compress",
                        "mapreduce.job.reduce.shuffle.consumer.plugin.class",
                        "mapreduce.map.java.opts"),
                UnusedSettings.of(conf));
    }

    @Test
    void refusesAJobWhoseSpillsAreToBeEncrypted() throws Exception {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setBoolean("mapreduce.job.encrypted-intermediate-data", true);
        Job job = job(conf);
        assertFalse(job.waitForCompletion(false));
        String why = job.getStatus().getFailureInfo();
        assertTrue(why.contains("does not encrypt spilled data"), why);
        assertFalse(Files.exists(folder.resolve("out")));
    }

    @Test
    void countsTheProcessorTimeOfTasks() throws Exception {
        Job job = job(Engines.TEGULA.conf(folder.resolve("tmp")));
        job.setMapperClass(Busy.class);
        assertTrue(job.waitForCompletion(false));
        long millis =
                job.getCounters().findCounter(TaskCounter.CPU_MILLISECONDS).getValue();
        assertTrue(millis >= 50, millis + " ms");
    }

    @Test
    void countsTheTimeOfTheCollectorWhileATaskRuns() throws Exception {
        Job job = job(Engines.TEGULA.conf(folder.resolve("tmp")));
        job.setMapperClass(Collects.class);
        assertTrue(job.waitForCompletion(false));
        long millis = job.getCounters().findCounter(TaskCounter.GC_TIME_MILLIS).getValue();
        assertTrue(millis >= 20, millis + " ms");
    }

    /** Has the heap collected until that has taken some time. */
    static class Collects extends Jobs.Words {
        static long collectorMillis() {
            long sum = 0;
            for (java.lang.management.GarbageCollectorMXBean each :
                    java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()) {
                sum += each.getCollectionTime();
            }
            return sum;
        }

        @Override
        protected void map(LongWritable place, Text line, Context context)
                throws java.io.IOException, InterruptedException {
            long start = collectorMillis();
            while (collectorMillis() - start < 20) {
                System.gc();
            }
            super.map(place, line, context);
        }
    }

    static class Busy extends Jobs.Words {
        @Override
        protected void map(LongWritable place, Text line, Context context)
                throws java.io.IOException, InterruptedException {
            long end = System.nanoTime() + 10_000_000_000L;
            java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
            long start = threads.getCurrentThreadCpuTime();
            while (threads.getCurrentThreadCpuTime() - start < 60_000_000 && System.nanoTime() < end) {
                Thread.onSpinWait();
            }
            super.map(place, line, context);
        }
    }
}
