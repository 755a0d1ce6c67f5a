package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.Cluster;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.JarOf;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.Launcher;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.Trees;
import org.tegula.hadoop.client.ServerCommands;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** A server and its clients are processes of their own, and each of them may end at any time. */
@Timeout(180)
class ServerProcessTest {
    private static final int LEASE_SECONDS = 4;

    @TempDir
    Path folder;

    private Processes processes;
    private Process server;
    private final Map<String, String> settings = new TreeMap<>();
    private Cluster cluster;

    @BeforeEach
    void serve() throws IOException {
        processes = new Processes(folder.resolve("errors"));
        settings.put(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        settings.put("hadoop.tmp.dir", folder.resolve("server").toString());
        settings.put(Settings.SERVER_LEASE_SECONDS, Integer.toString(LEASE_SECONDS));
        server = processes.start(ServeCommand.class, settings, "--port", "0");
        String said = Processes.line(server);
        assertTrue(said != null && said.startsWith("Listening on 127.0.0.1:"), said);
        settings.put(Settings.SERVER_ADDRESS, said.replaceAll("Listening on ([^;]*);.*", "$1"));
        settings.put("mapreduce.framework.name", "tegula");
        settings.put("hadoop.tmp.dir", folder.resolve("client").toString());
        cluster = new Cluster(conf());
        Files.writeString(folder.resolve("in.txt"), "b a b\n");
    }

    @AfterEach
    void end() throws IOException {
        processes.close();
        if (cluster != null) {
            cluster.close();
        }
        // Hadoop's cache would hand a client's view of the disk, which asks this server, to other tests.
        FileSystem.closeAll();
    }

    private Configuration conf() {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        settings.forEach(conf::set);
        return conf;
    }

    private Process client(String... arguments) throws IOException {
        return processes.start(ClientProgram.class, settings, arguments);
    }

    private String path(String name) {
        return folder.resolve(name).toString();
    }

    @Test
    void whatCannotBeServedIsNamed() throws Exception {
        assertEquals(2, Processes.end(processes.start(ServeCommand.class, settings, "--port", "65536")));
        assertEquals(
                2, Processes.end(processes.start(ServeCommand.class, settings, "--port", "0", "--places", "several")));
        String said = Files.readString(folder.resolve("errors"));
        assertTrue(said.contains("tegula-hadoop: usage: tegula-hadoop serve "), said);
        assertTrue(said.contains("tegula-hadoop: tegula.places is several, which no launcher "), said);
        assertFalse(said.contains("\tat "), said);
    }

    @Test
    void aJobOfAServerWithPlacesRunsAtThem() throws Exception {
        Process other = processes.start(ServeCommand.class, settings, "--port", "0", "--places", "jvm:2");
        settings.put(Settings.SERVER_ADDRESS, Processes.line(other).replaceAll("Listening on ([^;]*);.*", "$1"));
        Process count = client("count", path("in.txt"), path("counts"));
        assertEquals(0, Processes.end(count));
        assertEquals(2, PlaceServer.placesOf(other.toHandle()).size());
        assertTrue(Files.exists(folder.resolve("counts/_SUCCESS")));
        other.destroy();
        Processes.end(other);
    }

    @Test
    void aJobFindsInMemoryWhatAnotherClientsJobHasWritten() throws Exception {
        Process first = client("count", path("in.txt"), path("counts"));
        Process second = client("count", path("in.txt"), path("again"));
        assertEquals(0, Processes.end(first));
        assertEquals(0, Processes.end(second));
        Process third = client("turn", path("counts"), path("turned"));
        Processes.line(third);
        assertEquals("1", Processes.line(third));
        assertEquals(0, Processes.end(third));
        assertEquals("1\ta\n2\tb\n", Files.readString(folder.resolve("turned/part-m-00000")));
        assertEquals(
                Trees.read(folder.resolve("counts")).keySet(),
                Trees.read(folder.resolve("again")).keySet());
        assertEquals(3, cluster.getAllJobStatuses().length);
    }

    @Test
    void anOutputThatOnlyTheServerHasIsSeenByAllItsClients() throws Exception {
        settings.put("fs.file.impl", CachedLocalFileSystem.class.getName());
        assertEquals(0, Processes.end(client("count", path("in.txt"), path("temp-counts"))));
        assertFalse(Files.exists(folder.resolve("temp-counts")));
        Process second = client("turn", path("temp-counts"), path("turned"));
        Processes.line(second);
        assertEquals("1", Processes.line(second));
        assertEquals(0, Processes.end(second));
        assertEquals("1\ta\n2\tb\n", Files.readString(folder.resolve("turned/part-m-00000")));
        Process third = client("look", path("temp-counts"), path("temp-renamed"));
        List<String> said = third.inputReader().lines().toList();
        assertEquals(0, Processes.end(third));
        assertEquals(List.of("[_SUCCESS, part-r-00000] true", "true false false", "a=1 b=2 true", "true false"), said);
        assertFalse(Files.exists(folder.resolve("temp-renamed")));
        long saying = Files.readAllLines(folder.resolve("errors")).stream()
                .filter(line -> line.contains("temp-counts is in the memory of the engine alone"))
                .count();
        assertEquals(2, saying, "the server and the client that has made it");
    }

    @Test
    void jobsGoWithTheirClientUnlessTheyAreDetached() throws Exception {
        Process vanishes = client("never", path("in.txt"), path("killed"));
        settings.put(Settings.JOB_DETACHED, "true");
        Process leaves = client("never", path("in.txt"), path("goes-on"));
        settings.remove(Settings.JOB_DETACHED);
        JobID killed = begun(vanishes);
        JobID goesOn = begun(leaves);
        Thread.sleep((LEASE_SECONDS + 1) * 1000);
        assertEquals(JobStatus.State.RUNNING, state(killed), "a client that lives keeps its job");
        vanishes.destroyForcibly();
        leaves.destroyForcibly();
        await(killed, JobStatus.State.KILLED);
        assertFalse(Files.exists(folder.resolve("killed/_temporary")));
        assertEquals(JobStatus.State.RUNNING, state(goesOn));
        cluster.getJob(goesOn).killJob();
        await(goesOn, JobStatus.State.KILLED);
    }

    /** Waits until the only map of a program's job runs. */
    private JobID begun(Process program) throws Exception {
        JobID id = JobID.forName(Processes.line(program));
        awaitMap(cluster.getJob(id));
        return id;
    }

    private static void awaitMap(Job job) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (System.nanoTime() < end) {
            TaskReport[] maps = job.getTaskReports(TaskType.MAP);
            if (maps.length == 1 && maps[0].getState().equals("waiting")) {
                return;
            }
            Thread.sleep(20);
        }
        throw new AssertionError("no map of " + job.getJobID() + " runs");
    }

    private JobStatus.State state(JobID id) throws Exception {
        return cluster.getJob(id).getStatus().getState();
    }

    private void await(JobID id, JobStatus.State expected) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (state(id) != expected && System.nanoTime() < end) {
            Thread.sleep(20);
        }
        assertEquals(expected, state(id));
    }

    @Test
    void leavesNothingHalfWrittenWhenItIsTerminated() throws Exception {
        settings.put("fs.file.impl", CachedLocalFileSystem.class.getName());
        assertEquals(0, Processes.end(client("count", path("in.txt"), path("temp-counts"))));
        assertFalse(Files.exists(folder.resolve("temp-counts")));
        Job job = Jobs.wordCount(conf(), folder.resolve("in.txt"), folder.resolve("out"));
        job.setMapperClass(ClientProgram.Endless.class);
        job.submit();
        awaitMap(job);
        server.destroy();
        Processes.end(server);
        assertFalse(Files.exists(folder.resolve("out/_temporary")));
        assertFalse(Files.exists(folder.resolve("out/_SUCCESS")));
        assertFalse(Files.exists(folder.resolve("token")));
        assertTrue(Files.exists(folder.resolve("temp-counts/part-r-00000")), "files that were in its memory alone");
        try (Stream<Path> left = Files.list(folder.resolve("server"))) {
            assertEquals(
                    0,
                    left.filter(each -> each.getFileName().toString().startsWith("tegula-server-"))
                            .count());
        }
    }

    private Process stop() throws IOException {
        List<String> arguments = new ArrayList<>(List.of("stop"));
        settings.forEach((name, value) -> arguments.add("-D" + name + "=" + value));
        return processes.start(ServerCommands.class, Map.of(), arguments.toArray(String[]::new));
    }

    @Test
    void endsWhenItIsToldTo() throws Exception {
        Path pid = folder.resolve("token.pid");
        assertEquals(server.pid(), Long.parseLong(Files.readAllLines(pid).get(0)));
        Process stop = stop();
        assertEquals("The server, process " + server.pid() + ", has ended", Processes.line(stop));
        assertEquals(0, Processes.end(stop));
        assertFalse(server.isAlive());
        assertFalse(Files.exists(pid));
        assertFalse(Files.exists(folder.resolve("token")));
        assertEquals(1, Processes.end(stop()));
        assertTrue(Files.readString(folder.resolve("errors")).contains("No server runs that " + pid + " tells of"));
    }

    /** The number of a server that was killed may be another process's. */
    @Test
    void endsNoProcessThatHasTheNumberOfAServerThatIsGone() throws Exception {
        Files.writeString(folder.resolve("token.pid"), ProcessHandle.current().pid() + "\n2001-01-01T00:00:00Z\n");
        assertEquals(1, Processes.end(stop()));
        assertTrue(server.isAlive());
    }

    /** A program under the launcher ends with the reason in one line. */
    @Test
    void aWrongSecretIsSaidInOneLine() throws Exception {
        Path wrong = Files.writeString(folder.resolve("wrong"), "0".repeat(64));
        settings.put(Settings.SERVER_TOKEN_FILE, wrong.toString());
        Path jar = JarOf.source(folder, "Unused", "class Unused {}");
        List<String> arguments = new ArrayList<>(List.of(jar.toString(), ClientProgram.class.getName()));
        settings.forEach((name, value) -> arguments.add("-D" + name + "=" + value));
        arguments.addAll(List.of("count", path("in.txt"), path("out")));
        Process refused = processes.start(Launcher.class, Map.of(), arguments.toArray(String[]::new));
        assertEquals(1, Processes.end(refused));
        List<String> said = Files.readAllLines(folder.resolve("errors"));
        assertTrue(said.get(said.size() - 1).startsWith("tegula-hadoop: The server at "), () -> said.toString());
        assertFalse(said.stream().anyMatch(line -> line.startsWith("\tat ")), () -> said.toString());
    }

    /** If only the disk were asked, files in the server's memory would be missing silently. */
    @Test
    void aServerThatRefusesAClientIsNotTakenForOneThatIsGone() throws Exception {
        settings.put("fs.file.impl", CachedLocalFileSystem.class.getName());
        assertEquals(0, Processes.end(client("count", path("in.txt"), path("temp-counts"))));
        Path wrong = Files.writeString(folder.resolve("wrong"), "0".repeat(64));
        Configuration refused = conf();
        refused.set(Settings.SERVER_TOKEN_FILE, wrong.toString());
        org.apache.hadoop.fs.Path counts = new org.apache.hadoop.fs.Path(path("temp-counts"));
        try (FileSystem files = FileSystem.newInstance(counts.toUri(), refused)) {
            assertTrue(assertThrows(IOException.class, () -> files.exists(counts))
                    .getMessage()
                    .contains("refuses the secret in " + wrong));
        }
    }
}
