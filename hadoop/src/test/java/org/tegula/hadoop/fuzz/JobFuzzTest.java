package org.tegula.hadoop.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.ReflectionUtils;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/**
 * Random sequences of jobs have the pairs and the counters of the local runner. Each job reads the first input or the output of
 * an earlier one, so that pairs come from the cache and from temporary outputs, too. {@code -Dtegula.fuzz.sequences=1000
 * -Dtegula.fuzz.seed=7} draws more, or others.
 */
@Timeout(600)
class JobFuzzTest {
    private static final int JOBS = 4;
    private static final List<TaskCounter> COUNTERS = List.of(
            TaskCounter.MAP_INPUT_RECORDS,
            TaskCounter.MAP_OUTPUT_RECORDS,
            TaskCounter.MAP_OUTPUT_BYTES,
            TaskCounter.REDUCE_INPUT_GROUPS,
            TaskCounter.REDUCE_OUTPUT_RECORDS);

    @TempDir
    Path folder;

    static LongStream seeds() {
        long first = Long.getLong("tegula.fuzz.seed", 1);
        return LongStream.range(first, first + Long.getLong("tegula.fuzz.sequences", 8));
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void jobsThatWereDrawnHaveThePairsAndCountersOfTheLocalRunner(long seed) throws Exception {
        Random random = new Random(seed);
        KeyKind keys = KeyKind.values()[(int) Math.floorMod(seed, (long) KeyKind.values().length)];
        List<RandomJob> jobs =
                Stream.generate(() -> RandomJob.draw(keys, random)).limit(JOBS).toList();
        compare(jobs, random, random.nextBoolean() ? CachedLocalFileSystem.class : LocalFileSystem.class);
    }

    /** Keys that differ, and compare equal: Hadoop changes the one that it has handed out, beside each value. */
    static List<RandomJob> coarse() {
        return List.of(
                RandomJob.of(Reducer.class, Orders.AnyCase.class, null),
                RandomJob.of(Reducer.class, null, Orders.FirstLetter.class),
                RandomJob.of(NewPrograms.PromisedKeyInLoop.class, null, Orders.FirstLetter.class));
    }

    @ParameterizedTest
    @MethodSource("coarse")
    void keysOfAGroupComeWithTheirOwnValues(RandomJob job) throws Exception {
        RandomJob reading = RandomJob.of(NewPrograms.PromisedListing.class, null, null);
        compare(List.of(job, reading), new Random(1), CachedLocalFileSystem.class);
    }

    /** Runs some jobs on both engines: the first reads all input, each other one some of it or the output of an earlier one. */
    private void compare(List<RandomJob> jobs, Random random, Class<? extends FileSystem> files) throws Exception {
        Runner local = new Runner(Engines.LOCAL, LocalFileSystem.class);
        Runner tegula = new Runner(Engines.TEGULA, files);
        List<String> sources = new ArrayList<>(List.of("../in-0", "../in-1"));
        for (String each : sources) {
            writeInput(jobs.get(0).keys(), random, local.path(each), local.conf);
        }
        Map<String, RandomJob> outputs = new LinkedHashMap<>();
        try {
            for (RandomJob job : jobs) {
                List<String> from =
                        outputs.isEmpty() ? List.copyOf(sources) : List.of(sources.get(random.nextInt(sources.size())));
                String to = (random.nextBoolean() ? "temp-" : "out-") + outputs.size();
                assertEquals(local.run(job, from, to), tegula.run(job, from, to), job::toString);
                sources.add(to);
                outputs.put(to, job);
            }
            for (Map.Entry<String, RandomJob> each : outputs.entrySet()) {
                assertEquals(local.read(each.getKey()), tegula.read(each.getKey()), each::toString);
            }
        } finally {
            tegula.files.delete(tegula.path("."), true);
        }
    }

    /** Some pairs: every third value is large enough to go from map to reduce as an object. */
    private static void writeInput(KeyKind keys, Random random, org.apache.hadoop.fs.Path file, Configuration conf)
            throws IOException {
        try (SequenceFile.Writer writer = SequenceFile.createWriter(
                conf,
                SequenceFile.Writer.file(file),
                SequenceFile.Writer.keyClass(keys.type),
                SequenceFile.Writer.valueClass(Text.class))) {
            int pairs = random.nextInt(1, 40);
            for (int i = 0; i < pairs; i++) {
                String value = "v" + random.nextInt(1000);
                writer.append(keys.draw(random), new Text(i % 3 == 0 ? value.repeat(100) : value));
            }
        }
    }

    /** An engine with a folder of its own. */
    private final class Runner {
        private final Configuration conf;
        private final FileSystem files;
        private final Path home;

        Runner(Engines engine, Class<? extends FileSystem> fileSystem) throws IOException {
            home = folder.resolve(engine.name());
            conf = engine.conf(folder.resolve("tmp"));
            conf.setClass("fs.file.impl", fileSystem, FileSystem.class);
            conf.setBoolean("fs.file.impl.disable.cache", true);
            files = FileSystem.get(conf);
        }

        org.apache.hadoop.fs.Path path(String name) {
            return new org.apache.hadoop.fs.Path(home.resolve(name).normalize().toUri());
        }

        Map<TaskCounter, Long> run(RandomJob what, List<String> from, String to) throws Exception {
            Job job = what.job(conf, from.stream().map(this::path).toList(), path(to));
            assertTrue(job.waitForCompletion(false), what.toString());
            Map<TaskCounter, Long> counters = new LinkedHashMap<>();
            for (TaskCounter each : COUNTERS) {
                counters.put(each, job.getCounters().findCounter(each).getValue());
            }
            return counters;
        }

        /** The pairs of all parts of an output, one a line. */
        String read(String name) throws IOException {
            StringBuilder pairs = new StringBuilder();
            for (FileStatus part : files.globStatus(new org.apache.hadoop.fs.Path(path(name), "part-*"))) {
                pairs.append(part.getPath().getName()).append('\n');
                SequenceFile.Reader.Option file = SequenceFile.Reader.file(part.getPath());
                try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, file)) {
                    Writable key = (Writable) ReflectionUtils.newInstance(reader.getKeyClass(), conf);
                    Text value = new Text();
                    while (reader.next(key, value)) {
                        pairs.append(key).append('\t').append(value).append('\n');
                    }
                }
            }
            return pairs.toString();
        }
    }
}
