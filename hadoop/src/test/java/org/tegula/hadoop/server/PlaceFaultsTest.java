package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.Trees;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/**
 * Whatever happens to a place, its driver, its server or a client, a job has the right bytes or fails with the reason and the
 * place's name, and the next job succeeds. With {@code -Dplaces.faults=true} ({@code make campaign-places}).
 */
@Timeout(400)
@EnabledIfSystemProperty(named = "places.faults", matches = "true")
class PlaceFaultsTest {
    private static final int PLACES = 2;
    private static final int LEASE_SECONDS = 4;
    private static final String LOSS = "(?s)Place [0-9]+ \\(process %s\\) was lost: .*";

    @TempDir
    private static Path shared;

    private static PlaceServer server;
    private static Path texts;

    @TempDir
    Path folder;

    private Configuration conf;

    @BeforeAll
    static void serve() throws Exception {
        server = new PlaceServer(
                shared,
                PLACES,
                Map.of(
                        Settings.PLACES_LEASE_SECONDS,
                        Integer.toString(LEASE_SECONDS),
                        Settings.MEMORY_MB,
                        "4",
                        Settings.PLACES_JAVA_OPTS,
                        "-Xmx128m"));
        texts = Files.createDirectories(shared.resolve("texts"));
        for (String name : List.of("words.md", "sort.md", "input.md", "remote.md")) {
            Files.copy(Trees.documentation().resolve(name), texts.resolve(name));
        }
        assertTrue(
                job(Engines.LOCAL.conf(shared), texts, shared.resolve("right")).waitForCompletion(false));
    }

    @AfterAll
    static void close() throws IOException {
        server.close();
        FileSystem.closeAll();
    }

    @BeforeEach
    void configure() {
        conf = server.conf(folder.resolve("client"));
        conf.set(Pauses.FOLDER, folder.toString());
    }

    private static Job job(Configuration conf, Path in, Path out) throws IOException {
        Job job = Job.getInstance(conf);
        job.setMapperClass(Pauses.Map.class);
        job.setReducerClass(Pauses.Reduce.class);
        job.setOutputFormatClass(Pauses.Format.class);
        job.setMapOutputValueClass(Pauses.Line.class);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(Text.class);
        job.setNumReduceTasks(3);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(in.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(out.toUri()));
        return job;
    }

    private Job job(String out) throws IOException {
        return job(conf, texts, folder.resolve(out));
    }

    private void assertIsRight(String out) throws IOException {
        assertEquals(Trees.read(shared.resolve("right")), Trees.read(folder.resolve(out)));
    }

    /** Nothing that happened before harms a job. */
    private void assertNextJobIsRight() throws Exception {
        conf.unset(Pauses.PHASE);
        conf.unset(Pauses.PROCESS);
        conf.unset("mapreduce.task.timeout");
        assertTrue(job("next").waitForCompletion(false));
        assertIsRight("next");
    }

    private static void await(BooleanSupplier condition, String what) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, what);
            Thread.sleep(10);
        }
    }

    /** The process that has paused first. */
    private long paused() throws Exception {
        await(() -> !pausedFiles().isEmpty(), "the job does not come to its phase");
        return Long.parseLong(Files.readString(pausedFiles().get(0)));
    }

    private List<Path> pausedFiles() {
        try (Stream<Path> all = Files.list(folder)) {
            return all.filter(each -> each.getFileName().toString().startsWith("paused-"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static void kill(long pid) throws InterruptedException {
        ProcessHandle process = ProcessHandle.of(pid).orElseThrow();
        process.destroyForcibly();
        await(() -> !process.isAlive(), "the process does not end");
    }

    /** Waits for the JVMs of all places, so that a test may choose one of them. */
    private static List<ProcessHandle> places() throws InterruptedException {
        await(() -> PlaceServer.processes().size() == PLACES, "not all places are there");
        return PlaceServer.processes();
    }

    @ParameterizedTest
    @CsvSource({
        "MAP, 0",
        "MAP, 1",
        "SHUFFLE, 0",
        "SHUFFLE, 1",
        "REDUCE, 0",
        "REDUCE, 1",
        "TASK_COMMIT, 0",
        "TASK_COMMIT, 1"
    })
    void aPlaceIsKilled(Pauses.Phase phase, int reruns) throws Exception {
        conf.set(Pauses.PHASE, phase.name());
        conf.setInt(Settings.PLACES_RERUNS, reruns);
        Job job = job("out");
        job.submit();
        long pid = paused();
        kill(pid);
        Files.createFile(folder.resolve("go"));
        boolean succeeded = job.waitForCompletion(false);
        if (reruns == 0) {
            String why = job.getStatus().getFailureInfo();
            assertTrue(!succeeded && why.matches(String.format(LOSS, pid)), why);
            assertFalse(Files.exists(folder.resolve("out/_SUCCESS")));
        } else {
            assertTrue(succeeded, job.getStatus().getFailureInfo());
            assertIsRight("out");
        }
        assertNextJobIsRight();
    }

    /** The place that hears of both runs of the job at once is at work for the second one. */
    @RepeatedTest(3)
    void aPlaceIsKilledWhileItsJobBeginsAtAnother() throws Exception {
        conf.set(Pauses.PHASE, Pauses.Phase.MAP.name());
        conf.setInt(Settings.PLACES_RERUNS, 1);
        long other = places().get(1).pid();
        signal("STOP", other);
        Job job = job("out");
        job.submit();
        kill(paused());
        Thread.sleep(1000);
        Files.createFile(folder.resolve("go"));
        signal("CONT", other);
        assertTrue(job.waitForCompletion(false), job.getStatus().getFailureInfo());
        assertIsRight("out");
        assertNextJobIsRight();
    }

    private static void signal(String name, long pid) throws Exception {
        assertEquals(
                0,
                new ProcessBuilder("kill", "-" + name, Long.toString(pid))
                        .start()
                        .waitFor());
    }

    /** All tasks have been committed: the place has nothing that the job still needs. */
    @Test
    void aPlaceIsKilledWhileItsJobIsCommitted() throws Exception {
        conf.set(Pauses.PHASE, Pauses.Phase.JOB_COMMIT.name());
        Job job = job("out");
        job.submit();
        assertEquals(ProcessHandle.current().pid(), paused());
        kill(places().get(0).pid());
        Files.createFile(folder.resolve("go"));
        assertTrue(job.waitForCompletion(false), job.getStatus().getFailureInfo());
        assertIsRight("out");
        assertNextJobIsRight();
    }

    @Test
    void aPlaceIsKilledBetweenJobs() throws Exception {
        for (int i = 0; i < 2; i++) {
            kill(places().get(i).pid());
            assertNextJobIsRight();
            Trees.read(folder.resolve("next"))
                    .keySet()
                    .forEach(name -> folder.resolve("next/" + name).toFile().delete());
            assertTrue(folder.resolve("next").toFile().delete());
        }
    }

    @Test
    void aPlaceCannotBeStartedForAWhile() throws Exception {
        Path temporary = shared.resolve("server/tegula");
        Path aside = Files.move(temporary, shared.resolve("aside"));
        Files.createFile(temporary);
        kill(places().get(0).pid());
        Thread.sleep(2000);
        Files.delete(temporary);
        Files.move(aside, temporary);
        assertNextJobIsRight();
    }

    /** A stopped process keeps its connections: it is its silence that tells. */
    @Test
    void aPlaceIsStopped() throws Exception {
        conf.set(Pauses.PHASE, Pauses.Phase.MAP.name());
        Job job = job("out");
        job.submit();
        long pid = paused();
        signal("STOP", pid);
        assertFalse(job.waitForCompletion(false));
        String why = job.getStatus().getFailureInfo();
        assertTrue(
                why.endsWith(" (process " + pid + ") was lost: it was silent for " + LEASE_SECONDS + " seconds"), why);
        await(() -> ProcessHandle.of(pid).isEmpty(), "the stopped process is still there");
        Files.createFile(folder.resolve("go"));
        assertNextJobIsRight();
    }

    @ParameterizedTest
    @EnumSource(Pauses.Deed.class)
    void aJobMisbehavesAtOnePlace(Pauses.Deed deed) throws Exception {
        long pid = places().get(1).pid();
        conf.set(Pauses.DEED, deed.name());
        conf.setLong(Pauses.PROCESS, pid);
        conf.setInt("mapreduce.task.timeout", deed == Pauses.Deed.HANG ? 3000 : 0);
        conf.setInt("mapreduce.map.maxattempts", 2);
        Job job = job("out");
        if (job.waitForCompletion(false)) {
            assertIsRight("out"); // the other place was luckier
            assertFalse(deed == Pauses.Deed.EXIT);
        } else {
            String why = job.getStatus().getFailureInfo();
            assertTrue(why.contains(" (process " + pid + ")"), why);
        }
        assertNextJobIsRight();
    }

    /** The limit on a file's size stands for a full disk, of one place alone. */
    @Test
    void aDiskIsFullAtOnePlace() throws Exception {
        long pid = places().get(1).pid();
        StringBuilder text = new StringBuilder();
        Random random = new Random(1);
        for (int i = 0; i < 120_000; i++) {
            text.append((char) ('a' + random.nextInt(26))).append(i % 12 == 11 ? '\n' : 'x');
        }
        Path in = Files.createDirectories(folder.resolve("in"));
        for (int i = 0; i < 4; i++) {
            Files.writeString(in.resolve("text" + i), text);
        }
        limit(pid, "100000");
        conf.setInt("mapreduce.map.maxattempts", 1); // the next attempt may be at the other place
        Job job = job(conf, in, folder.resolve("out"));
        assertFalse(job.waitForCompletion(false));
        String why = job.getStatus().getFailureInfo();
        assertTrue(why.contains("File too large") && why.contains(" (process " + pid + ")"), why);
        limit(pid, "unlimited");
        assertTrue(job(conf, in, folder.resolve("again")).waitForCompletion(false));
        assertNextJobIsRight();
    }

    private static void limit(long pid, String bytes) throws Exception {
        ProcessBuilder limit =
                new ProcessBuilder("prlimit", "--pid", Long.toString(pid), "--fsize=" + bytes + ":unlimited");
        assertEquals(0, limit.start().waitFor());
    }

    private Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("hadoop.tmp.dir", folder.resolve("tmp").toString());
        settings.put("mapreduce.framework.name", "tegula");
        settings.put(Settings.PLACES, "jvm:" + PLACES);
        settings.put(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        return settings;
    }

    private List<ProcessHandle> placesOf(Process driver) throws InterruptedException {
        await(() -> PlaceServer.placesOf(driver.toHandle()).size() == PLACES, "not all places are there");
        return PlaceServer.placesOf(driver.toHandle());
    }

    @Test
    void aDriverIsKilled() throws Exception {
        try (Processes processes = new Processes(folder.resolve("errors"))) {
            String in = Files.writeString(folder.resolve("in.txt"), "b a b\n").toString();
            Process driver = processes.start(
                    ClientProgram.class,
                    settings(),
                    "never",
                    in,
                    folder.resolve("out").toString());
            Processes.line(driver);
            List<ProcessHandle> places = placesOf(driver);
            Thread.sleep(1000);
            driver.destroyForcibly();
            for (ProcessHandle each : places) {
                await(() -> !each.isAlive(), "a place outlives its driver");
            }
            assertFalse(Files.exists(folder.resolve("out/_SUCCESS")));
        }
    }

    @Test
    void aServerIsKilledWithClientsAttached() throws Exception {
        try (Processes processes = new Processes(folder.resolve("errors"))) {
            String in = Files.writeString(folder.resolve("in.txt"), "b a b\n").toString();
            Process first = processes.start(ServeCommand.class, settings(), "--port", "0");
            Process waits = client(processes, first, "never", in, "never");
            Processes.line(waits);
            List<ProcessHandle> places = placesOf(first);
            first.destroyForcibly();
            assertTrue(code(waits) != 0);
            for (ProcessHandle each : places) {
                await(() -> !each.isAlive(), "a place outlives its server");
            }
            Process second = processes.start(ServeCommand.class, settings(), "--port", "0");
            assertEquals(0, code(client(processes, second, "count", in, "counts")));
            assertTrue(Files.exists(folder.resolve("counts/_SUCCESS")));
            second.destroy();
            code(second);
        }
    }

    /** Waits longer than others do: all JVMs are new, of which a busy machine has enough to do. */
    private static int code(Process process) throws InterruptedException {
        assertTrue(process.waitFor(150, TimeUnit.SECONDS), "the process does not end");
        return process.exitValue();
    }

    private Process client(Processes processes, Process serving, String what, String in, String out)
            throws IOException {
        Map<String, String> settings = settings();
        settings.remove(Settings.PLACES);
        settings.put(Settings.SERVER_ADDRESS, Processes.line(serving).replaceAll("Listening on ([^;]*);.*", "$1"));
        settings.put("ipc.client.connect.max.retries", "2");
        return processes.start(
                ClientProgram.class, settings, what, in, folder.resolve(out).toString());
    }

    /** Two clients rename and delete outputs whose pairs are at places; after each call, both see what a model has. */
    @Test
    void clientsRenameAndDeleteTheSameOutputs() throws Exception {
        conf.set("fs.file.impl", CachedLocalFileSystem.class.getName());
        conf.setBoolean("fs.file.impl.disable.cache", true);
        List<FileSystem> clients = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            clients.add(FileSystem.newInstance(java.net.URI.create("file:///"), conf));
        }
        Map<Integer, Integer> model = new TreeMap<>(); // which job's output is where
        Map<Integer, Map<String, Long>> outputs = new TreeMap<>();
        Random random = new Random(5);
        for (int step = 0; step < 60; step++) {
            int from = random.nextInt(4);
            int to = random.nextInt(4);
            FileSystem caller = clients.get(random.nextInt(2));
            if (step % 6 == 0 && !model.containsKey(from)) {
                assertTrue(ServedPairs.make(conf, path(from), step).waitForCompletion(false));
                model.put(from, step);
                outputs.put(step, sizes(caller, from));
            } else if (step % 3 == 0) {
                assertEquals(model.remove(from) != null, caller.delete(path(from), true));
            } else if (model.containsKey(from) && from != to && !model.containsKey(to)) {
                assertTrue(caller.rename(path(from), path(to)));
                model.put(to, model.remove(from));
            }
            for (FileSystem each : clients) {
                for (int name = 0; name < 4; name++) {
                    assertEquals(outputs.get(model.getOrDefault(name, -1)), sizes(each, name), "step " + step);
                }
            }
        }
        for (int name : model.keySet()) {
            assertFalse(Files.exists(folder.resolve("temp-" + name)), "only names were changed");
            assertEquals(ServedPairs.expected(model.get(name)), ServedPairs.read(clients.get(0), path(name)));
        }
        for (FileSystem each : clients) {
            each.close();
        }
    }

    private org.apache.hadoop.fs.Path path(int name) {
        return new org.apache.hadoop.fs.Path(folder.toUri().getPath(), "temp-" + name);
    }

    /** The files of an output with their lengths; null if there is none. */
    private Map<String, Long> sizes(FileSystem client, int name) throws IOException {
        if (!client.exists(path(name))) {
            return null;
        }
        Map<String, Long> sizes = new TreeMap<>();
        for (org.apache.hadoop.fs.FileStatus each : client.listStatus(path(name))) {
            sizes.put(each.getPath().getName(), each.getLen());
        }
        return sizes;
    }
}
