package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Cluster;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.tools.CLI;
import org.apache.hadoop.util.ToolRunner;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.place.Places;

/** {@code mapred job} answers for jobs of this JVM, of a server, and of ended engines, whose histories are left. */
@Timeout(120)
class HadoopCommandsTest {
    private static final String COUNTERS = "org.apache.hadoop.mapreduce.TaskCounter";

    @TempDir
    Path folder;

    private EngineServer server;

    /** The engine that has run the job, and that the commands ask. */
    enum Asked {
        THIS_JVM,
        SERVER,
        LATER_SERVER
    }

    @AfterEach
    void close() throws IOException {
        if (server != null) {
            server.close();
        }
        // Hadoop's cache would hand a client's view of the disk, which asks this server, to other tests.
        FileSystem.closeAll();
    }

    @BeforeEach
    void write() throws IOException {
        Path in = Files.createDirectory(folder.resolve("in"));
        Files.writeString(in.resolve("a"), "one two two\n");
        Files.writeString(in.resolve("b"), "three three three\n");
    }

    private Configuration serve() throws IOException {
        Configuration site = Engines.TEGULA.conf(folder.resolve("server"));
        site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        site.set(Settings.HISTORY_DIR, folder.resolve("histories").toString());
        server = new EngineServer(
                new Engine(Places.local(1, 2), 64 << 20, PairCache.shared(site), 10), site, "127.0.0.1", 0);
        Configuration client = Engines.TEGULA.conf(folder.resolve("client"));
        client.set(Settings.SERVER_TOKEN_FILE, site.get(Settings.SERVER_TOKEN_FILE));
        client.set(Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort());
        return client;
    }

    private Configuration conf(Asked asked) throws IOException {
        if (asked != Asked.THIS_JVM) {
            return serve();
        }
        Configuration conf = Engines.TEGULA.conf(folder.resolve("client"));
        conf.set(Settings.HISTORY_DIR, folder.resolve("histories").toString());
        return conf;
    }

    /** The configuration of a client that did not submit the job. */
    private Configuration later(Asked asked, Configuration conf) throws IOException {
        if (asked != Asked.LATER_SERVER) {
            return conf;
        }
        server.close();
        return serve();
    }

    private String print(Configuration conf, String... arguments) throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            ToolRunner.run(new CLI(new JobConf(conf)), arguments);
        } finally {
            System.setOut(before);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @EnumSource
    void answerForAJobThatSucceeded(Asked asked) throws Exception {
        Configuration conf = conf(asked);
        Job job = Jobs.wordCount(conf, folder.resolve("in"), folder.resolve("out"));
        job.setNumReduceTasks(1);
        assertTrue(job.waitForCompletion(false));
        String file = job.getHistoryUrl();
        conf = later(asked, conf);
        String id = job.getJobID().toString();
        String attempt = id.replace("job", "attempt");

        String list = print(conf, "-list", "all");
        assertTrue(list.lines().anyMatch(line -> line.contains(id) && line.contains("SUCCEEDED")), list);
        assertFalse(print(conf, "-list").contains(id));
        String status = print(conf, "-status", id);
        assertTrue(status.contains("Job state: SUCCEEDED") && status.contains("Map input records=2"), status);
        assertTrue(status.contains("Number of maps: 2") && status.contains("Number of reduces: 1"), status);
        assertEquals(
                "2", print(conf, "-counter", id, COUNTERS, "MAP_INPUT_RECORDS").strip());
        String events = print(conf, "-events", id, "0", "10");
        assertTrue(events.contains("are: 3") && events.contains("SUCCEEDED " + attempt + "_r_000000_0"), events);
        assertTrue(print(conf, "-events", id, "1", "1").contains("are: 1"));
        List<String> maps =
                print(conf, "-list-attempt-ids", id, "MAP", "completed").lines().toList();
        assertEquals(List.of(attempt + "_m_000000_0", attempt + "_m_000001_0"), maps);
        assertEquals("", print(conf, "-list-attempt-ids", id, "REDUCE", "running"));
        for (String which : List.of(id, file)) {
            String shown = print(conf, "-history", which);
            assertTrue(shown.contains("Hadoop job: " + job.getJobID()) && shown.contains("word count"), shown);
        }
    }

    /** Fails wherever it runs. */
    public static final class Fails extends Jobs.Words {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException {
            throw new IOException("no luck");
        }
    }

    @ParameterizedTest
    @EnumSource
    void answerForAJobThatFailed(Asked asked) throws Exception {
        Configuration conf = conf(asked);
        Job job = Jobs.wordCount(conf, folder.resolve("in").resolve("a"), folder.resolve("out"));
        job.setMapperClass(Fails.class);
        job.setMaxMapAttempts(2);
        assertFalse(job.waitForCompletion(false));
        conf = later(asked, conf);
        String id = job.getJobID().toString();

        String list = print(conf, "-list", "all");
        assertTrue(list.lines().anyMatch(line -> line.contains(id) && line.contains("FAILED")), list);
        String status = print(conf, "-status", id);
        assertTrue(status.contains("Job state: FAILED") && status.contains("failed 2 times"), status);
        assertTrue(status.contains("Number of maps: 1") && status.contains("Number of reduces: 1"), status);
        String task = id.replace("job", "attempt") + "_m_000000";
        List<String> events =
                print(conf, "-events", id, "0", "10").lines().skip(2).toList();
        assertEquals(2, events.size(), events.toString());
        assertTrue(events.get(0).startsWith("FAILED " + task + "_0"), events.toString());
        assertTrue(events.get(1).startsWith("TIPFAILED " + task + "_1"), events.toString());
        Cluster cluster = new Cluster(conf);
        Job found = cluster.getJob(JobID.forName(id));
        assertEquals(JobStatus.State.FAILED, found.getStatus().getState());
        assertTrue(found.getStatus().getFailureInfo().contains("no luck"));
        TaskCompletionEvent event = found.getTaskCompletionEvents(0, 1)[0];
        assertTrue(found.getTaskDiagnostics(event.getTaskAttemptId())[0].contains("no luck"));
        assertEquals(1, found.getTaskReports(TaskType.MAP).length);
        assertEquals(2, found.getTaskReports(TaskType.MAP)[0].getDiagnostics().length);
        cluster.close();
    }

    @Test
    void listOthersFilesForNothing() throws Exception {
        Path histories = Files.createDirectory(folder.resolve("histories"));
        Files.writeString(histories.resolve("job_of_mine.jhist"), "");
        Files.writeString(histories.resolve("job_1_0001-no-history.txt"), "");
        assertFalse(print(conf(Asked.SERVER), "-list", "all").contains("job_"));
    }
}
