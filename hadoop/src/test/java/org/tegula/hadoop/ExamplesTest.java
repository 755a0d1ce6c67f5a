package org.tegula.hadoop;

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
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.StringTokenizer;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.ExampleDriver;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.engine.Engine;

/** Hadoop's own examples, unmodified, write the same files as under Hadoop's local runner, to the byte. */
class ExamplesTest {
    private static final String TEXT_OUT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat";
    private static final String KEY_VALUE_IN = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat";

    @TempDir
    static Path folder;

    private static ExitTrap exits;

    @BeforeAll
    static void makeInputs() throws IOException {
        exits = new ExitTrap();
        Path texts = Files.createDirectories(folder.resolve("texts"));
        for (String name : List.of("words.md", "sort.md", "input.md", "remote.md")) {
            Files.copy(Trees.documentation().resolve(name), texts.resolve(name));
        }
        Random random = new Random(7);
        StringBuilder pairs = new StringBuilder();
        for (int i = 0; i < 5000; i++) {
            pairs.append(random.nextInt(50))
                    .append(' ')
                    .append(random.nextInt(100))
                    .append('\n');
        }
        Files.writeString(folder.resolve("pairs.txt"), pairs);
        for (String side : List.of("left", "right")) {
            StringBuilder lines = new StringBuilder();
            for (int i = 0; i < 2000; i++) {
                lines.append(String.format("%04d\t%s%d%n", i * (side.equals("left") ? 2 : 3), side, i));
            }
            Files.writeString(folder.resolve(side + ".txt"), lines);
        }
    }

    @AfterAll
    static void restoreExits() {
        exits.close();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
            aggregatewordcount    | @texts @out 2 textinputformat
            aggregatewordhist     | @texts @out 2 textinputformat
            grep                  | @texts @out [a-z]+
            join                  | -r 2 -inFormat KEYVALUE -outFormat TEXT -outKey org.apache.hadoop.io.Text \
                                    -outValue org.apache.hadoop.mapreduce.lib.join.TupleWritable \
                                    -joinOp outer @left.txt @right.txt @out
            multifilewc           | @texts @out
            secondarysort         | -D mapreduce.job.reduces=3 @pairs.txt @out
            sort                  | -r 3 -inFormat KEYVALUE -outFormat TEXT -outKey org.apache.hadoop.io.Text \
                                    -outValue org.apache.hadoop.io.Text @texts @out
            wordcount             | -D mapreduce.job.reduces=3 @texts @out
            wordmean              | @texts @out
            wordstandarddeviation | @texts @out
            teragen               | -D mapreduce.job.maps=1 20000 @out
            terasort              | -D mapreduce.job.reduces=3 @0-teragen @out
            teravalidate          | @0-terasort @out
            pentomino             | @out -width 4 -height 5 -depth 2
            bbp                   | 1 60 3 @out
            terasort              | -D mapreduce.job.reduces=2 -D mapreduce.terasort.simplepartitioner=true \
                                    @0-teragen @out-simple
            join                  | -r 1 -inFormat KEYVALUE -outFormat TEXT -outKey org.apache.hadoop.io.Text \
                                    -outValue org.apache.hadoop.mapreduce.lib.join.TupleWritable \
                                    -joinOp inner @left.txt @right.txt @out-inner
            """)
    void leavesTheSameFilesAsTheLocalRunner(String program, String arguments) throws Exception {
        Result right = run(Engines.LOCAL, program, arguments);
        Result ours = run(Engines.TEGULA, program, arguments);
        assertEquals(0, right.code, right.text);
        assertEquals(0, ours.code, ours.text);
        assertFalse(right.files.isEmpty());
        assertEquals(right.files.keySet(), ours.files.keySet());
        right.files.forEach((name, content) -> assertEquals(content, ours.files.get(name), name));
        assertFalse(right.counters.isEmpty());
        assertEquals(right.counters.size(), ours.counters.size());
        for (int job = 0; job < right.counters.size(); job++) {
            assertSameCounters(right.counters.get(job), ours.counters.get(job));
        }
    }

    /** Pairs that are found in the cache are not read. */
    private static void assertSameCounters(Map<String, Long> right, Map<String, Long> ours) {
        if (ours.remove("SPLITS_FOUND") != null) {
            right.remove("Bytes Read");
            ours.remove("Bytes Read");
        }
        ours.remove("SPLITS_READ");
        assertEquals(right, ours);
    }

    /** Their output is drawn anew in each run, but not in how many files; the local runner would run one map only. */
    @ParameterizedTest
    @ValueSource(strings = {"randomwriter", "randomtextwriter"})
    void writesAsManyRandomFilesAsItIsAskedFor(String program) throws Exception {
        String arguments = "-D mapreduce.%1$s.bytespermap=20000 -D mapreduce.%1$s.totalbytes=60000 @out";
        Result ours = run(Engines.TEGULA, program, String.format(arguments, program));
        assertEquals(0, ours.code, ours.text);
        List<String> names = ours.files.keySet().stream()
                .filter(name -> !name.startsWith("."))
                .toList();
        assertEquals(List.of("_SUCCESS", "part-m-00000", "part-m-00001", "part-m-00002"), names);
    }

    /** It reads none of its options, so it gets the engine as from the launcher, and is given the expected result. */
    @Test
    void countsWordsByLengthForTheirMedian() throws Exception {
        Configuration.addDefaultResource("tegula-site.xml");
        int before = Engine.shared(new Configuration()).newJobId().getId();
        Map<Integer, Integer> lengths = new TreeMap<>();
        for (String text : Trees.read(folder.resolve("texts")).values()) {
            String decoded = new String(text.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
            StringTokenizer words = new StringTokenizer(decoded);
            while (words.hasMoreTokens()) {
                lengths.merge(words.nextToken().length(), 1, Integer::sum);
            }
        }
        StringBuilder right = new StringBuilder();
        lengths.forEach((length, count) ->
                right.append(length).append('\t').append(count).append('\n'));
        Path out = folder.resolve("median");
        Result ours = run("wordmedian", List.of(folder.resolve("texts").toString(), out.toString()), out);
        assertEquals(0, ours.code, ours.text);
        assertEquals(right.toString(), ours.files.get("part-r-00000"));
        assertEquals(before + 2, Engine.shared(new Configuration()).newJobId().getId());
    }

    @Test
    void solvesASudoku() throws Exception {
        Path puzzle = folder.resolve("puzzle.dta");
        Files.writeString(
                puzzle,
                """
                8 5 ? 3 9 ? ? ? ?
                ? ? 2 ? ? ? ? ? ?
                ? ? 6 ? 1 ? ? ? 2
                ? ? 4 ? ? 3 ? 5 9
                ? ? 8 9 ? 1 4 ? ?
                3 2 ? 4 ? ? 8 ? ?
                9 ? ? ? 8 ? 5 ? ?
                ? ? ? ? ? ? 2 ? ?
                ? ? ? ? 4 5 ? 7 8
                """);
        Result ours = run("sudoku", List.of(puzzle.toString()), folder);
        assertEquals(0, ours.code, ours.text);
        assertTrue(ours.text.contains("Found 1 solutions"), ours.text);
    }

    @Test
    void estimatesTheSamePi() throws Exception {
        String right = run(Engines.LOCAL, "pi", "4 1000").text;
        String ours = run(Engines.TEGULA, "pi", "4 1000").text;
        assertEquals(lineWith("Estimated value", right), lineWith("Estimated value", ours));
    }

    private static String lineWith(String words, String text) {
        return text.lines()
                .filter(line -> line.contains(words))
                .findFirst()
                .orElseThrow(() -> new AssertionError(text));
    }

    /** It draws its input anew each time, and checks the totals itself. */
    @Test
    void countsPageViewsOfADatabase() throws Exception {
        System.setProperty("test.build.data", folder.resolve("database").toString());
        try {
            Result right = run("dbcount", Engines.LOCAL.options(folder.resolve("tmp")), null);
            Result ours = run("dbcount", Engines.TEGULA.options(folder.resolve("tmp")), null);
            assertEquals(0, right.code, right.text);
            assertEquals(0, ours.code, ours.text);
            assertEquals(right.counters.get(0).keySet(), ours.counters.get(0).keySet());
            assertTrue(ours.counters.get(0).get("Map input records") > 0);
        } finally {
            System.clearProperty("test.build.data");
        }
    }

    /** Sums in maps, and in reduces. */
    @ParameterizedTest
    @ValueSource(strings = {"m", "r"})
    void findsTheSameBitsOfPi(String kind) throws Exception {
        Map<String, String> right = distributedSums(Engines.LOCAL, kind);
        assertEquals(14, right.size());
        assertEquals(right, distributedSums(Engines.TEGULA, kind));
    }

    /** Returns the result of each sum, without its times. */
    private Map<String, String> distributedSums(Engines engine, String kind) throws Exception {
        List<String> arguments = new ArrayList<>(engine.options(folder.resolve("tmp")));
        arguments.addAll(List.of("-D", "pi.job.separation.seconds=0"));
        Path own = Files.createDirectories(folder.resolve("bits-" + engine.ordinal() + kind));
        arguments.addAll(List.of("20000", "1", "1", kind, "2", own + "/remote", own + "/local"));
        Result result = run("distbbp", arguments, null);
        assertEquals(0, result.code, result.text);
        Map<String, String> sums = Trees.read(own.resolve("remote"));
        sums.keySet().removeIf(name -> !name.matches("P.*\\.txt"));
        sums.replaceAll((name, content) -> content.replaceAll("duration=.*", ""));
        return sums;
    }

    private record Result(int code, String text, Map<String, String> files, List<Map<String, Long>> counters) {}

    private static Result run(Engines engine, String program, String arguments) throws Exception {
        Path out = null;
        List<String> all = new ArrayList<>(engine.options(folder.resolve("tmp")));
        for (String each : arguments.trim().split("\\s+")) {
            String argument = each.replace("KEYVALUE", KEY_VALUE_IN).replace("TEXT", TEXT_OUT);
            if (argument.startsWith("@out")) {
                out = folder.resolve(engine.ordinal() + "-" + program + argument.substring("@out".length()));
                argument = out.toString();
            } else if (argument.startsWith("@")) {
                argument = folder.resolve(argument.substring(1)).toString();
            }
            all.add(argument);
        }
        return run(program, all, out);
    }

    private static Result run(String program, List<String> arguments, Path out) throws Exception {
        List<String> all = new ArrayList<>(arguments);
        all.add(0, program);
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        try (CounterLog counters = new CounterLog();
                PrintStream capture = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
            System.setOut(capture);
            int code = exits.run(() -> ExampleDriver.main(all.toArray(String[]::new)));
            return new Result(
                    code,
                    printed.toString(StandardCharsets.UTF_8),
                    out == null ? Map.of() : Trees.read(out),
                    counters.jobs());
        } finally {
            System.setOut(before);
        }
    }
}
