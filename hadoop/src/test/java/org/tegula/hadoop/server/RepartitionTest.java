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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.MapFile;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.GenericOptionsParser;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.ExitTrap;
import org.tegula.hadoop.HadoopCommand;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.Trees;
import org.tegula.hadoop.api.PlaceCounter;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.place.Places;

/** {@code tegula-hadoop repartition}: every pair is in the file that its partitioner names, or nothing is written. */
@Timeout(60)
class RepartitionTest {
    private static final int PLACES = 3;
    private static final int FILES = 5;
    private static final int PAIRS = 600;

    @TempDir
    Path folder;

    private EngineServer server;
    private String errors;

    /** Where the command's job runs. */
    enum Where {
        ONE_JVM,
        PLACES
    }

    /** Neighbours are in different partitions, which are not those of {@code HashPartitioner}. */
    public static final class BySevens extends Partitioner<IntWritable, Writable> {
        @Override
        public int getPartition(IntWritable key, Writable value, int partitions) {
            return Math.floorMod(key.get() * 7, partitions);
        }
    }

    /** Names a partition that there is not, for one key. */
    public static final class OneTooFar extends Partitioner<IntWritable, Writable> {
        @Override
        public int getPartition(IntWritable key, Writable value, int partitions) {
            return key.get() == 17 ? partitions : 0;
        }
    }

    @BeforeEach
    void makeFolder() throws IOException {
        Files.createDirectory(folder.resolve("in"));
    }

    @AfterEach
    void close() throws IOException {
        if (server != null) {
            server.close();
        }
        // Hadoop's cache would hand a client's view of the disk, which asks this server, to other tests.
        FileSystem.closeAll();
    }

    private List<String> settings(Where where) throws IOException {
        List<String> settings = new ArrayList<>(Engines.TEGULA.options(folder.resolve("tmp")));
        if (where == Where.PLACES) {
            Configuration site = Engines.TEGULA.conf(folder.resolve("tmp"));
            site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
            Engine engine = new Engine(Places.local(PLACES, PLACES), 64 << 20, PairCache.shared(site), 10);
            server = new EngineServer(engine, site, "127.0.0.1", 0);
            settings.add(option(Settings.SERVER_TOKEN_FILE, folder.resolve("token")));
            settings.add(option(
                    Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort()));
        }
        return settings;
    }

    /** Runs the command to its exit code. */
    private int repartition(List<String> settings, String... arguments) throws Exception {
        List<String> all = new ArrayList<>(List.of("repartition"));
        all.addAll(settings);
        all.addAll(List.of(arguments));
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
        try (ExitTrap exits = new ExitTrap()) {
            return exits.run(() -> {
                try {
                    HadoopCommand.main(all.toArray(new String[0]));
                } catch (Exception | Error e) {
                    throw e;
                } catch (Throwable e) {
                    throw new AssertionError(e);
                }
            });
        } finally {
            System.setErr(before);
            errors = said.toString(StandardCharsets.UTF_8);
        }
    }

    private static String option(String name, Object value) {
        return "-D" + name + "=" + value;
    }

    private static String partitioner(Class<?> type) {
        return option(MRJobConfig.PARTITIONER_CLASS_ATTR, type.getName());
    }

    private static String reduces(int count) {
        return option(MRJobConfig.NUM_REDUCES, count);
    }

    private String path(String name) {
        return folder.resolve(name).toString();
    }

    private org.apache.hadoop.fs.Path hadoopPath(String name) {
        return new org.apache.hadoop.fs.Path(folder.resolve(name).toUri());
    }

    private void write(String name, Class<? extends Writable> key, Class<? extends Writable> value, Writable... pairs)
            throws IOException {
        write(name, SequenceFile.CompressionType.NONE, key, value, pairs);
    }

    private void write(
            String name,
            SequenceFile.CompressionType compression,
            Class<? extends Writable> key,
            Class<? extends Writable> value,
            Writable... pairs)
            throws IOException {
        try (SequenceFile.Writer writer = SequenceFile.createWriter(
                new Configuration(),
                SequenceFile.Writer.file(hadoopPath(name)),
                SequenceFile.Writer.keyClass(key),
                SequenceFile.Writer.valueClass(value),
                SequenceFile.Writer.compression(compression))) {
            for (int i = 0; i < pairs.length; i += 2) {
                writer.append(pairs[i], pairs[i + 1]);
            }
        }
    }

    /** Files of ranges of keys. Some pairs are there twice, in one file or in two, and some values are empty. */
    private void writePairs() throws IOException {
        for (int file = 0; file < FILES; file++) {
            Writable[] pairs = new Writable[2 * PAIRS];
            for (int i = 0; i < PAIRS; i++) {
                int key = file * 100 + i / 3;
                pairs[2 * i] = new IntWritable(key);
                pairs[2 * i + 1] = new Text("v".repeat(i % 3 / 2 * key));
            }
            write(
                    "in/some-" + file,
                    SequenceFile.CompressionType.values()[file % 3],
                    IntWritable.class,
                    Text.class,
                    pairs);
        }
    }

    /** Adds the pairs of a sequence file, and how often each is there. */
    private void read(String name, Map<Integer, Map<String, Integer>> all) throws IOException {
        try (SequenceFile.Reader reader =
                new SequenceFile.Reader(new Configuration(), SequenceFile.Reader.file(hadoopPath(name)))) {
            IntWritable key = new IntWritable();
            Text value = new Text();
            while (reader.next(key, value)) {
                all.computeIfAbsent(key.get(), none -> new TreeMap<>()).merge(value.toString(), 1, Integer::sum);
            }
        }
    }

    private Map<Integer, Map<String, Integer>> readAll(String folderName) throws IOException {
        Map<Integer, Map<String, Integer>> all = new TreeMap<>();
        for (String name : Trees.read(folder.resolve(folderName)).keySet()) {
            if (!name.contains(".crc") && !name.equals("_SUCCESS")) {
                read(folderName + "/" + name, all);
            }
        }
        return all;
    }

    /** The output has all pairs of the input, in as many files as there are partitions, and each is in its own. */
    private void assertIsPartitioned(String in, String out, int partitions) throws IOException {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < partitions; i++) {
            String name = "part-r-0000" + i;
            names.add(name);
            Map<Integer, Map<String, Integer>> pairs = new TreeMap<>();
            read(out + "/" + name, pairs);
            assertFalse(pairs.isEmpty(), name);
            for (int key : pairs.keySet()) {
                assertEquals(i, new BySevens().getPartition(new IntWritable(key), null, partitions), name);
            }
        }
        names.add(0, "_SUCCESS");
        assertEquals(names, visible(out));
        assertEquals(readAll(in), readAll(out));
    }

    private List<String> visible(String name) throws IOException {
        return Trees.read(folder.resolve(name)).keySet().stream()
                .filter(each -> !each.endsWith(".crc"))
                .toList();
    }

    private Job job(Configuration conf, String in, String out, int reduces) throws IOException {
        Job job = Job.getInstance(conf);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setMapperClass(Mapper.class);
        job.setReducerClass(Reducer.class);
        job.setNumReduceTasks(reduces);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(Text.class);
        FileInputFormat.addInputPath(job, hadoopPath(in));
        FileOutputFormat.setOutputPath(job, hadoopPath(out));
        return job;
    }

    @ParameterizedTest
    @EnumSource
    void putsEachPairIntoTheFileThatItsPartitionerNames(Where where) throws Exception {
        writePairs();
        int code = repartition(settings(where), partitioner(BySevens.class), reduces(4), path("in"), path("out"));
        assertEquals(0, code, errors);
        assertIsPartitioned("in", "out", 4);
    }

    /** The input is the local runner's, by the hashes of keys. */
    @ParameterizedTest
    @EnumSource
    void makesAsManyFilesAsThereAreIfNoNumberIsGiven(Where where) throws Exception {
        writePairs();
        Configuration local = Engines.LOCAL.conf(folder.resolve("tmp"));
        Job job = job(local, "in", "hadoop", FILES);
        assertTrue(job.waitForCompletion(false));
        int code = repartition(settings(where), partitioner(BySevens.class), path("hadoop"), path("out"));
        assertEquals(0, code, errors);
        assertIsPartitioned("in", "out", FILES);
    }

    @Test
    void noPairMovesInTheJobThatFollows() throws Exception {
        writePairs();
        List<String> settings = settings(Where.PLACES);
        Configuration conf = new Configuration();
        new GenericOptionsParser(conf, settings.toArray(new String[0]));
        conf.set(MRJobConfig.PARTITIONER_CLASS_ATTR, BySevens.class.getName());
        Job before = job(conf, "in", "before", 2 * PLACES);
        assertTrue(before.waitForCompletion(false));
        assertTrue(count(before, PlaceCounter.PAIRS_MOVED) > 0);
        int code = repartition(settings, partitioner(BySevens.class), reduces(2 * PLACES), path("in"), path("out"));
        assertEquals(0, code, errors);
        Job after = job(conf, "out", "after", 2 * PLACES);
        assertTrue(after.waitForCompletion(false));
        assertEquals(0, count(after, PlaceCounter.PAIRS_MOVED));
        assertEquals(FILES * PAIRS, count(after, PlaceCounter.PAIRS_STAYED));
        assertIsPartitioned("in", "after", 2 * PLACES);
    }

    private static long count(Job job, PlaceCounter counter) throws IOException {
        return job.getCounters().findCounter(counter).getValue();
    }

    /** A map file is a folder of a data file and an index: it counts as one file, and its index has no pairs. */
    @Test
    void readsMapFiles() throws Exception {
        for (int file = 0; file < 2; file++) {
            try (MapFile.Writer writer = new MapFile.Writer(
                    new Configuration(),
                    hadoopPath("in/part-r-0000" + file),
                    MapFile.Writer.keyClass(IntWritable.class),
                    MapFile.Writer.valueClass(Text.class))) {
                for (int key = 0; key < 10; key++) {
                    writer.append(new IntWritable(key), new Text("value " + file));
                }
            }
        }
        int code = repartition(settings(Where.ONE_JVM), partitioner(BySevens.class), path("in"), path("out"));
        assertEquals(0, code, errors);
        assertEquals(List.of("_SUCCESS", "part-r-00000", "part-r-00001"), visible("out"));
        Map<Integer, Map<String, Integer>> pairs = readAll("out");
        assertEquals(10, pairs.size());
        pairs.values().forEach(each -> assertEquals(Map.of("value 0", 1, "value 1", 1), each));
    }

    /** What is wrong with the input or the output. */
    enum Fault {
        FOLDER_IS_MISSING("in"),
        FOLDER_IS_EMPTY("in"),
        FILE_IS_A_TEXT("in/b"),
        FILE_IS_EMPTY("in/b"),
        FOLDER_IS_NO_MAP_FILE("in/b/data"),
        KEYS_ARE_OTHERS("in/b"),
        VALUES_ARE_OTHERS("in/b"),
        CLASS_IS_UNKNOWN("in/b"),
        OUTPUT_IS_THERE("out");

        private final String named;

        Fault(String named) {
            this.named = named;
        }
    }

    private void make(Fault fault) throws IOException {
        if (fault == Fault.FOLDER_IS_MISSING) {
            Files.delete(folder.resolve("in"));
        } else if (fault != Fault.FOLDER_IS_EMPTY) {
            write("in/a", IntWritable.class, Text.class, new IntWritable(1), new Text("one"));
        }
        switch (fault) {
            case FILE_IS_A_TEXT -> Files.writeString(folder.resolve("in/b"), "1\tone\n");
            case FILE_IS_EMPTY -> Files.createFile(folder.resolve("in/b"));
            case FOLDER_IS_NO_MAP_FILE -> Files.createDirectory(folder.resolve("in/b"));
            case KEYS_ARE_OTHERS -> write("in/b", LongWritable.class, Text.class);
            case VALUES_ARE_OTHERS -> write("in/b", IntWritable.class, LongWritable.class);
            case CLASS_IS_UNKNOWN -> {
                write("in/b", IntWritable.class, Text.class);
                byte[] bytes = Files.readAllBytes(folder.resolve("in/b"));
                bytes[new String(bytes, StandardCharsets.ISO_8859_1).indexOf("IntWritable")] = 'X';
                Files.write(folder.resolve("in/b"), bytes);
                Files.delete(folder.resolve("in/.b.crc"));
            }
            case OUTPUT_IS_THERE -> {
                Files.createDirectory(folder.resolve("out"));
                Files.writeString(folder.resolve("out/old"), "old");
            }
            default -> {}
        }
    }

    @ParameterizedTest
    @EnumSource
    void writesNothingAndSaysWhereTheFaultIs(Fault fault) throws Exception {
        make(fault);
        Map<String, String> before = Trees.read(folder.resolve("out"));
        assertEquals(1, repartition(settings(Where.ONE_JVM), reduces(2), path("in"), path("out")));
        assertTrue(errors.startsWith("tegula-hadoop: "), errors);
        assertEquals(1, errors.lines().count(), errors);
        assertTrue(errors.contains(path(fault.named)), errors);
        assertEquals(fault == Fault.OUTPUT_IS_THERE, Files.exists(folder.resolve("out")));
        assertEquals(before, Trees.read(folder.resolve("out")));
    }

    /** Hadoop's client has shown what failed before it. */
    private String lastError() {
        return errors.lines().reduce("", (before, line) -> line);
    }

    @ParameterizedTest
    @EnumSource
    void leavesNothingOfAJobThatFails(Where where) throws Exception {
        writePairs();
        int code = repartition(settings(where), partitioner(OneTooFar.class), reduces(2), path("in"), path("out"));
        assertEquals(1, code);
        assertTrue(lastError().startsWith("tegula-hadoop: " + path("out") + " was not made: "), errors);
        assertTrue(lastError().contains("Illegal partition for 17 (2)"), errors);
        assertFalse(Files.exists(folder.resolve("out")));
    }

    @Test
    void namesTheFileWhoseEndIsMissing() throws Exception {
        writePairs();
        byte[] bytes = Files.readAllBytes(folder.resolve("in/some-3"));
        Files.write(folder.resolve("in/some-3"), Arrays.copyOf(bytes, bytes.length - 10));
        Files.delete(folder.resolve("in/.some-3.crc"));
        assertEquals(1, repartition(settings(Where.ONE_JVM), path("in"), path("out")));
        assertTrue(lastError().contains(path("in/some-3")), errors);
        assertFalse(Files.exists(folder.resolve("out")));
    }

    @Test
    void refusesToMakeNoFile() throws Exception {
        writePairs();
        assertEquals(1, repartition(settings(Where.ONE_JVM), reduces(0), path("in"), path("out")));
        assertTrue(errors.startsWith("tegula-hadoop: mapreduce.job.reduces is 0"), errors);
        assertFalse(Files.exists(folder.resolve("out")));
    }

    @Test
    void saysHowItIsUsed() throws Exception {
        assertEquals(2, repartition(List.of(), path("in")));
        assertTrue(errors.startsWith("usage: tegula-hadoop repartition "), errors);
    }
}
