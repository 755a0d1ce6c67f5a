package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tasks see the settings that Hadoop's client has written for the job, though the engine does not read them again. */
@Timeout(60)
class SubmittedConfTest {
    @TempDir
    Path folder;

    private Configuration conf;
    private Path text;

    @BeforeEach
    void make() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        text = Files.writeString(folder.resolve("text"), "x\n");
        submitted = new CountDownLatch(1);
        begun = new CountDownLatch(1);
    }

    private static volatile CountDownLatch submitted;
    private static volatile CountDownLatch begun;
    private static volatile Map<String, String> seen;
    private static volatile Map<String, String> written;
    private static volatile boolean sawFinal;

    /** Notes all settings, and those in the job's folder, once the client has gone on. */
    public static final class Notes extends Jobs.Words {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            begun.countDown();
            submitted.await();
            Configuration conf = context.getConfiguration();
            Configuration read = new Configuration(false);
            read.addResource(new org.apache.hadoop.fs.Path(conf.get(MRJobConfig.MAPREDUCE_JOB_DIR), "job.xml"));
            written = all(read);
            seen = all(conf);
            sawFinal = conf.getFinalParameters().equals(read.getFinalParameters());
            super.map(place, line, context);
        }

        private static Map<String, String> all(Configuration conf) {
            Map<String, String> all = new TreeMap<>();
            new HashMap<>(conf.getPropsWithPrefix("")).keySet().forEach(name -> all.put(name, conf.getRaw(name)));
            return all;
        }
    }

    /** Returns the settings that the engine and Hadoop make for a task. */
    private static Map<String, String> ofTheJob(Map<String, String> settings, Map<String, String> as) {
        Map<String, String> kept = new TreeMap<>(settings);
        kept.keySet().retainAll(as.keySet());
        return kept;
    }

    @Test
    void areTheSameForTasks() throws Exception {
        Path site = Files.writeString(
                folder.resolve("site.xml"),
                "<configuration><property><name>my.final</name><value>a</value><final>true</final></property></configuration>");
        conf.addResource(new org.apache.hadoop.fs.Path(site.toUri()));
        conf.set("my.spaces", "  two before, \t\r\n and after  ");
        conf.set("my.signs", "<&>\"' \u00e4\u20ac\ud83d\ude00 ]]> \\u0001 %20");
        conf.set("my.reference", "${my.spaces} ${no.such} ${user.name}");
        conf.set("my.empty", "");
        Job job = Jobs.wordCount(conf, text, folder.resolve("out"));
        job.getConfiguration().set("mapred.job.name", "by its older name");
        job.setMapperClass(Notes.class);
        job.submit();
        submitted.countDown();
        assertTrue(job.waitForCompletion(false));
        Map<String, String> asWritten = ofTheJob(written, seen);
        assertEquals(written.keySet(), asWritten.keySet());
        assertEquals(asWritten, ofTheJob(seen, written));
        assertTrue(sawFinal);
        assertEquals(conf.getRaw("my.spaces"), seen.get("my.spaces"));
        assertEquals("by its older name", seen.get("mapreduce.job.name"));
    }

    @Test
    void doNotChangeWithThoseOfTheClient() throws Exception {
        JobConf own = new JobConf(conf);
        own.set("my.setting", "before");
        Job job = Jobs.wordCount(own, text, folder.resolve("out"));
        job.setMapperClass(Notes.class);
        Configuration live = job.getConfiguration();
        live.set("my.setting", "submitted");
        job.submit();
        begun.await();
        live.set("my.setting", "after");
        live.set("my.other", "after");
        submitted.countDown();
        assertTrue(job.waitForCompletion(false));
        assertEquals("submitted", seen.get("my.setting"));
        assertFalse(seen.containsKey("my.other"));
    }

    /** With {@code JobClient}, whose own settings are others than the job's. */
    @Test
    void areTheJobsAndNotThoseOfTheClientThatRunsIt() throws Exception {
        conf.set("my.setting", "the client's");
        JobClient client = new JobClient(conf);
        Job job = Jobs.wordCount(conf, text, folder.resolve("out"));
        job.setMapperClass(Notes.class);
        JobConf old = new JobConf(job.getConfiguration());
        old.set("my.setting", "the job's");
        old.setUseNewMapper(true);
        old.setUseNewReducer(true);
        submitted.countDown();
        client.submitJob(old).waitForCompletion();
        assertEquals("the job's", seen.get("my.setting"));
        client.close();
    }
}
