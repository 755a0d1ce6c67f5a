package org.tegula.hadoop.conf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever is asked of a layered configuration, in any order, it answers as a copy would. */
class LayeredConfTest {
    private static final String NEW_NAME = "mapreduce.task.partition";
    private static final String OLD_NAME = "mapred.task.partition";

    /** As a job's is read from its file. */
    private static JobConf job() {
        Configuration job = new Configuration(false);
        job.set("plain", "1");
        job.set("group.a", "2");
        job.set("class", "Outer$Inner");
        job.set("reference", "${plain}-${set.later}");
        job.set(NEW_NAME, "3");
        JobConf read = new JobWideConf();
        read.addResource(job);
        return read;
    }

    private static Configuration resource() {
        Configuration resource = new Configuration(false);
        resource.set("plain", "from resource");
        resource.set("set.later", "from resource");
        return resource;
    }

    /** Each changes a configuration; every pair of them is tried. */
    private static final Map<String, Consumer<JobConf>> CHANGES = Map.of(
            "nothing", conf -> {},
            "sets a new one", conf -> conf.set("set.later", "x"),
            "sets one of a group", conf -> conf.set("group.b", "y"),
            "sets by the newer name", conf -> conf.setInt(NEW_NAME, 7),
            "sets by the older name", conf -> conf.setInt(OLD_NAME, 8),
            "unsets", conf -> conf.unset("plain"),
            "adds a resource", conf -> conf.addResource(resource()),
            "reloads", Configuration::reloadConfiguration,
            "clears", Configuration::clear,
            "asks for what refers to others", conf -> conf.get("reference"));

    private static final List<Function<JobConf, Object>> QUESTIONS = List.of(
            conf -> conf.get("plain"),
            conf -> conf.get("set.later", "otherwise"),
            conf -> conf.get("missing", "${plain}"),
            conf -> conf.get("missing"),
            conf -> conf.get("reference"),
            conf -> conf.getRaw("reference"),
            conf -> conf.get("class"),
            conf -> conf.getInt(NEW_NAME, -1),
            conf -> conf.getInt(OLD_NAME, -1),
            conf -> conf.getPropsWithPrefix("group."),
            conf -> conf.getPropsWithPrefix("ref"),
            Configuration::size,
            LayeredConfTest::all,
            conf -> all(new JobConf(conf)));

    private static Map<String, String> all(Configuration conf) {
        Map<String, String> all = new TreeMap<>();
        conf.forEach(each -> all.put(each.getKey(), each.getValue()));
        return all;
    }

    static Stream<String> changes() {
        return CHANGES.keySet().stream().sorted();
    }

    @ParameterizedTest
    @MethodSource("changes")
    void answersAsACopyDoes(String first) {
        for (String second : CHANGES.keySet()) {
            for (int question = 0; question < QUESTIONS.size(); question++) {
                JobConf right = new JobConf(job());
                JobConf ours = new LayeredConf(job());
                for (JobConf conf : new JobConf[] {right, ours}) {
                    CHANGES.get(first).accept(conf);
                    CHANGES.get(second).accept(conf);
                }
                List<Object> answers = new ArrayList<>();
                for (JobConf conf : new JobConf[] {right, ours, right, ours}) {
                    answers.add(QUESTIONS.get(question).apply(conf));
                }
                String what = first + ", " + second + ", question " + question;
                assertEquals(answers.get(0), answers.get(1), what);
                assertEquals(answers.get(2), answers.get(3), what);
            }
        }
    }

    @Test
    void copiesNothingForSingleValues() {
        JobConf job = job();
        LayeredConf conf = new LayeredConf(job);
        conf.set(NEW_NAME, "4");
        assertEquals("4", conf.get(OLD_NAME));
        assertEquals("Outer$Inner", conf.get("class"));
        assertEquals(Map.of("a", "2"), conf.getPropsWithPrefix("group."));
        LayeredConf above = new LayeredConf(conf);
        assertEquals("4", above.get(NEW_NAME));
        assertNull(above.get("missing"));
        assertFalse(above.isCopied());
        assertFalse(conf.isCopied());
        assertEquals("1-${set.later}", conf.get("reference"));
        assertTrue(conf.isCopied());
        assertEquals("3", job.get(NEW_NAME));
    }

    @Test
    void hasTheLoaderAndTheSourcesOfTheLowerOne() {
        JobConf job = job();
        job.setClassLoader(new java.net.URLClassLoader(new java.net.URL[0]));
        LayeredConf conf = new LayeredConf(job);
        conf.set("mine", "1");
        assertSame(job.getClassLoader(), conf.getClassLoader());
        assertSame(job.getCredentials(), conf.getCredentials());
        assertArrayEquals(job.getPropertySources("plain"), conf.getPropertySources("plain"));
        assertArrayEquals(new String[] {"programmatically"}, conf.getPropertySources("mine"));
        assertEquals(job.getFinalParameters(), conf.getFinalParameters());
    }

    @Test
    void remembersGroupsUntilSomethingIsSet() {
        JobConf job = job();
        assertEquals(Map.of("a", "2"), job.getPropsWithPrefix("group."));
        job.getPropsWithPrefix("group.").put("x", "y");
        job.set("group.c", "5");
        assertEquals(Map.of("a", "2", "c", "5"), job.getPropsWithPrefix("group."));
        job.unset("group.a");
        assertEquals(Map.of("c", "5"), job.getPropsWithPrefix("group."));
    }
}
