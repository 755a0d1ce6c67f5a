package org.tegula.hadoop.collect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.combine.Combiner;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.run.Merge;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.SpillFiles;
import org.tegula.hadoop.task.TaskReporter;

/** Pairs go through a collector, its runs and the merge, and come out sorted and complete, in memory or not. */
class CollectorTest {
    private static final int PARTITIONS = 3;
    private static final SpareSlots ALWAYS = work -> {
        new Thread(work).start();
        return true;
    };

    @TempDir
    Path folder;

    private JobConf conf;
    private SpillFiles disk;
    private SpareSlots spare = SpareSlots.NONE;

    @BeforeEach
    void configure() {
        conf = new JobConf();
        conf.set("mapreduce.cluster.local.dir", folder.toString());
        conf.setMapOutputKeyClass(Text.class);
        conf.setMapOutputValueClass(IntWritable.class);
        conf.setNumReduceTasks(PARTITIONS);
        disk = new SpillFiles(conf, "job");
    }

    @ParameterizedTest
    @CsvSource({
        "false, 100000000, 100000000",
        "true, 100000000, 100000000",
        "false, 20000, 30000",
        "true, 20000, 30000",
        "false, 2000, 0",
        "true, 2000, 0"
    })
    void keepsAllPairs(boolean combine, long bufferBytes, long memoryBytes) throws Exception {
        MemoryBudget memory = new MemoryBudget(memoryBytes);
        List<Run> runs = collect(combine ? IntSumReducer.class : null, memory, bufferBytes, 20000);
        assertEquals(expected(20000), sums(runs));
        assertTrue(memory.usedBytes() <= memoryBytes);
        runs.forEach(Run::release);
        assertEquals(0, memory.usedBytes());
        assertEquals(List.of(), filesLeft());
        disk.delete();
    }

    /** Helpers come and go; the collected pairs and the borders of runs are the same. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void collectsTheSameWithHelpers(boolean combine) throws Exception {
        Class<?> combiner = combine ? IntSumReducer.class : null;
        List<List<Integer>> sizes = new ArrayList<>();
        Random random = new Random(5);
        SpareSlots sometimes = work -> random.nextBoolean() && ALWAYS.begin(work);
        for (SpareSlots each : List.of(SpareSlots.NONE, ALWAYS, sometimes)) {
            spare = each;
            MemoryBudget memory = new MemoryBudget(200_000);
            List<Run> runs = collect(combiner, memory, 100_000, 50_000);
            assertEquals(expected(50_000), sums(runs));
            sizes.add(runs.stream().map(run -> (int) run.bytes(1)).toList());
            runs.forEach(Run::release);
            assertEquals(0, memory.usedBytes());
        }
        assertTrue(sizes.get(0).size() > 1, "one run shows nothing");
        assertEquals(sizes.get(0), sizes.get(1));
        assertEquals(sizes.get(0), sizes.get(2));
    }

    /** Two thousand keys have room in a mebibyte, however many pairs there are of them. */
    @Test
    void fillsASmallBufferBeforeItIsWritten() throws Exception {
        List<Run> runs = collect(IntSumReducer.class, new MemoryBudget(1 << 24), 1 << 20, 100_000);
        assertEquals(1, runs.size());
        assertEquals(expected(100_000), sums(runs));
    }

    @Test
    void failsAsItsHelperDoes() throws Exception {
        spare = ALWAYS;
        conf.set(
                "mapreduce.cluster.local.dir",
                Files.createFile(folder.resolve("file")).toString());
        try (Collector<Text, IntWritable> collector =
                context(null, new MemoryBudget(0), 5000).collector()) {
            IOException error = assertThrows(IOException.class, () -> emit(collector, 2000));
            assertTrue(error.getCause() instanceof IOException, error.toString());
        }
    }

    /** Short and long values, repeated or not, all come to the combiner and out again. */
    @ParameterizedTest
    @ValueSource(longs = {20_000, 100_000_000})
    void keepsValuesOfAllLengths(long bufferBytes) throws Exception {
        conf.setMapOutputValueClass(Text.class);
        conf.setClass("mapreduce.job.combine.class", Reducer.class, Reducer.class);
        TaskReporter reporter = new TaskReporter(conf);
        MemoryBudget memory = new MemoryBudget(1 << 24);
        Combiner<Text, Text> same = Combiner.of(conf, new TaskAttemptID(), null, reporter);
        CollectContext<Text, Text> context =
                new CollectContext<>(conf, reporter, same, memory, disk, bufferBytes, null, spare);
        TreeMap<String, Integer> emitted = new TreeMap<>();
        TreeMap<String, Integer> found = new TreeMap<>();
        Random random = new Random(4);
        try (Collector<Text, Text> collector = context.collector()) {
            for (int i = 0; i < 20_000; i++) {
                Text key = new Text("key" + random.nextInt(50));
                Text value = new Text("v".repeat(random.nextInt(4) * random.nextInt(5)));
                for (int times = random.nextInt(3); times > 0; times--) {
                    emitted.merge(key + " " + value, 1, Integer::sum);
                    collector.collect(key, value, partition(key.toString()));
                }
            }
            List<Run> runs = collector.finish();
            for (int partition = 0; partition < PARTITIONS; partition++) {
                try (Merge merge = Merge.open(runs, partition, conf.getOutputKeyComparator(), disk, () -> {})) {
                    while (merge.next()) {
                        Text value = new Text();
                        value.readFields(merge.getValue());
                        found.merge(key(merge) + " " + value, 1, Integer::sum);
                    }
                }
            }
            runs.forEach(Run::release);
        }
        assertEquals(emitted, found);
    }

    @Test
    void keepsWhatACombinerEmitsUnderOtherKeysAndAtItsEnd() throws Exception {
        List<Run> runs = collect(Mischievous.class, new MemoryBudget(1 << 20), 5000, 3000);
        long pairs = 0;
        for (int partition = 0; partition < PARTITIONS; partition++) {
            try (Merge merge = Merge.open(runs, partition, conf.getOutputKeyComparator(), disk, () -> {})) {
                Text before = null;
                while (merge.next()) {
                    Text key = key(merge);
                    assertTrue(before == null || before.compareTo(key) <= 0);
                    before = key;
                    pairs += value(merge);
                }
            }
        }
        assertEquals(3000L, pairs);
        runs.forEach(Run::release);
    }

    @Test
    void findsADamagedSpillFile() throws Exception {
        List<Run> runs = collect(null, new MemoryBudget(0), 1 << 20, 500);
        Path file = filesLeft().get(0);
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length / 6] ^= 1;
        Files.write(file, bytes);
        IOException error = assertThrows(IOException.class, () -> sums(runs));
        assertTrue(error.getMessage().contains(file.toString()), error.getMessage());
        runs.forEach(Run::release);
    }

    @Test
    void givesUpRunsOfATaskThatFails() throws Exception {
        MemoryBudget memory = new MemoryBudget(1 << 20);
        Collector<Text, IntWritable> collector = context(null, memory, 500).collector();
        emit(collector, 200);
        assertTrue(memory.usedBytes() > 0);
        collector.close();
        assertEquals(0, memory.usedBytes());
    }

    @Test
    void refusesAPartitionThatDoesNotExist() throws Exception {
        try (Collector<Text, IntWritable> collector =
                context(null, new MemoryBudget(0), 500).collector()) {
            IOException error = assertThrows(
                    IOException.class, () -> collector.collect(new Text("key"), new IntWritable(1), PARTITIONS));
            assertTrue(error.getMessage().contains("Illegal partition"));
        }
    }

    private CollectContext<Text, IntWritable> context(Class<?> combiner, MemoryBudget memory, long bufferBytes)
            throws Exception {
        TaskReporter reporter = new TaskReporter(conf);
        if (combiner != null) {
            conf.setClass("mapreduce.job.combine.class", combiner, Reducer.class);
        }
        Combiner<Text, IntWritable> made = Combiner.of(conf, new TaskAttemptID(), null, reporter);
        return new CollectContext<>(conf, reporter, made, memory, disk, bufferBytes, null, spare);
    }

    private List<Run> collect(Class<?> combiner, MemoryBudget memory, long bufferBytes, int pairs) throws Exception {
        try (Collector<Text, IntWritable> collector =
                context(combiner, memory, bufferBytes).collector()) {
            assertEquals(combiner != null, collector instanceof HashCollector);
            emit(collector, pairs);
            return new ArrayList<>(collector.finish());
        }
    }

    private static String word(Random random) {
        return "word" + random.nextInt(random.nextBoolean() ? 10 : 2000);
    }

    private static int partition(String word) {
        return (word.hashCode() & Integer.MAX_VALUE) % PARTITIONS;
    }

    private static void emit(Collector<Text, IntWritable> collector, int pairs) throws Exception {
        Random random = new Random(3);
        Text key = new Text();
        IntWritable one = new IntWritable(1);
        for (int i = 0; i < pairs; i++) {
            String word = word(random);
            key.set(word);
            collector.collect(key, one, partition(word));
        }
    }

    private static TreeMap<String, Integer> expected(int pairs) {
        TreeMap<String, Integer> sums = new TreeMap<>();
        Random random = new Random(3);
        for (int i = 0; i < pairs; i++) {
            sums.merge(word(random), 1, Integer::sum);
        }
        return sums;
    }

    private TreeMap<String, Integer> sums(List<Run> runs) throws IOException {
        TreeMap<String, Integer> sums = new TreeMap<>();
        for (int partition = 0; partition < PARTITIONS; partition++) {
            try (Merge merge = Merge.open(runs, partition, conf.getOutputKeyComparator(), disk, () -> {})) {
                String before = "";
                while (merge.next()) {
                    String key = key(merge).toString();
                    assertEquals(partition, partition(key));
                    assertFalse(before.compareTo(key) > 0);
                    before = key;
                    sums.merge(key, value(merge), Integer::sum);
                }
            }
        }
        return sums;
    }

    private static Text key(Merge merge) throws IOException {
        Text key = new Text();
        key.readFields(merge.getKey());
        return key;
    }

    private static int value(Merge merge) throws IOException {
        IntWritable value = new IntWritable();
        DataInputBuffer bytes = merge.getValue();
        value.readFields(bytes);
        return value.get();
    }

    private List<Path> filesLeft() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).toList();
        }
    }

    /** Emits sums under another key, and one pair after all groups; the sum over everything stays right. */
    public static class Mischievous extends Reducer<Text, IntWritable, Text, IntWritable> {
        private int kept;

        @Override
        protected void reduce(Text key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            int sum = 0;
            for (IntWritable value : values) {
                sum += value.get();
            }
            kept++;
            context.write(new Text("x" + key), new IntWritable(sum - 1));
        }

        @Override
        protected void cleanup(Context context) throws IOException, InterruptedException {
            context.write(new Text("kept"), new IntWritable(kept));
        }
    }
}
