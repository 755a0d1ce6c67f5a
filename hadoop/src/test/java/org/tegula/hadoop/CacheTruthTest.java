package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.api.CacheCounter;

/**
 * After any changes of files between jobs, through Hadoop or past it, a job sees the same as a run without a cache. Files often
 * have equal lengths, and times are set back.
 */
@Timeout(300)
class CacheTruthTest {
    private static final int STEPS = 20;

    @TempDir
    Path folder;

    private Random random;
    private Path data;
    private FileSystem hadoop;
    private int outputs;
    private long found;

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void neverShowsWhatIsNotThere(long seed) throws Exception {
        random = new Random(seed);
        data = Files.createDirectories(folder.resolve("data"));
        Configuration ours = Engines.TEGULA.conf(folder.resolve("tmp"));
        hadoop = FileSystem.get(ours);
        for (int i = 0; i < 4; i++) {
            Files.writeString(data.resolve("file" + i), text());
        }
        for (int step = 0; step < STEPS; step++) {
            for (int changes = random.nextInt(3); changes > 0; changes--) {
                change();
            }
            assertEquals(right(), read(ours), "step " + step);
        }
        assertEquals(read(Engines.LOCAL.conf(folder.resolve("tmp"))), read(ours));
        assertTrue(found > STEPS, "only " + found + " splits were found");
    }

    /** Few lengths, so that a file often has that of another. */
    private String text() {
        return random.nextInt(1000, 10_000) + " word\n" + "line\n".repeat(random.nextInt(3));
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> all = Files.list(data)) {
            return new ArrayList<>(
                    all.filter(path -> path.getFileName().toString().startsWith("file"))
                            .sorted()
                            .toList());
        }
    }

    private Path anyFile() throws IOException {
        List<Path> files = files();
        return files.isEmpty() ? newFile() : files.get(random.nextInt(files.size()));
    }

    private Path newFile() throws IOException {
        return Files.writeString(data.resolve("file" + random.nextInt(8)), text());
    }

    private static org.apache.hadoop.fs.Path hadoopPath(Path path) {
        return new org.apache.hadoop.fs.Path(path.toUri());
    }

    private void change() throws Exception {
        Path file = anyFile();
        Path other = data.resolve("file" + random.nextInt(8));
        switch (random.nextInt(12)) {
            case 0 -> newFile();
            case 1 -> Files.writeString(file, text());
            case 2 -> {
                FileTime before = Files.getLastModifiedTime(file);
                Files.writeString(file, text());
                Files.setLastModifiedTime(file, before);
            }
            case 3 -> Files.delete(file);
            case 4 -> Files.move(file, other, StandardCopyOption.REPLACE_EXISTING);
            case 5 -> swap(file, anyFile());
            case 6 -> Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000_000_000L + random.nextInt(10)));
            case 7 -> Files.writeString(file, "more\n", java.nio.file.StandardOpenOption.APPEND);
            case 8 -> hadoop.rename(hadoopPath(file), hadoopPath(other));
            case 9 -> hadoop.delete(hadoopPath(file), false);
            case 10 -> {
                try (var out = hadoop.create(hadoopPath(file), true)) {
                    out.writeBytes(text());
                }
                Files.delete(data.resolve("." + file.getFileName() + ".crc"));
            }
            default -> renameFolderAndBack();
        }
    }

    private void swap(Path left, Path right) throws IOException {
        if (!left.equals(right)) {
            Path third = data.resolve("third");
            Files.move(left, third);
            Files.move(right, left);
            Files.move(third, right);
        }
    }

    private void renameFolderAndBack() throws IOException {
        Path elsewhere = folder.resolve("elsewhere");
        hadoop.rename(hadoopPath(data), hadoopPath(elsewhere));
        if (random.nextBoolean()) {
            Files.writeString(elsewhere.resolve("file0"), text());
        }
        Files.move(elsewhere, data);
    }

    private List<String> right() throws IOException {
        Map<String, Integer> counts = new TreeMap<>();
        for (Path file : files()) {
            for (String line : Files.readAllLines(file)) {
                Stream.of(line.split(" ")).forEach(word -> counts.merge(word, 1, Integer::sum));
            }
        }
        return counts.entrySet().stream()
                .map(each -> each.getKey() + "\t" + each.getValue())
                .toList();
    }

    /** Returns a job's counts, and the pairs that a second one reads of the first one's output. */
    private List<String> read(Configuration conf) throws Exception {
        Path counts = folder.resolve("counts" + outputs);
        Path text = folder.resolve("text" + outputs++);
        Job first = Jobs.wordCount(conf, data, counts);
        run(first, TextInputFormat.class, SequenceFileOutputFormat.class);
        Job second = Job.getInstance(conf);
        second.setNumReduceTasks(0);
        second.setOutputKeyClass(Text.class);
        second.setOutputValueClass(IntWritable.class);
        FileInputFormat.addInputPath(second, hadoopPath(counts));
        FileOutputFormat.setOutputPath(second, hadoopPath(text));
        run(second, SequenceFileInputFormat.class, TextOutputFormat.class);
        return Files.readAllLines(text.resolve("part-m-00000"));
    }

    @SuppressWarnings("rawtypes")
    private void run(Job job, Class<? extends InputFormat> in, Class<? extends OutputFormat> out) throws Exception {
        job.setInputFormatClass(in);
        job.setOutputFormatClass(out);
        assertTrue(job.waitForCompletion(false));
        found += job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue();
    }
}
