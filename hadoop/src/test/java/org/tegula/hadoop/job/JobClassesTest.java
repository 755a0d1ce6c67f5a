package org.tegula.hadoop.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.JarOf;
import org.tegula.hadoop.Settings;

/** Which class of several with one name a job finds, and whether an earlier job has left state in it. */
class JobClassesTest {
    private static final String NAME = "Counts";

    @TempDir
    Path folder;

    private final JobConf conf = new JobConf(false);
    private Path jar;

    @BeforeEach
    void compile() throws Exception {
        jar = counting("job", 1);
        conf.setJar(jar.toString());
    }

    /** A class whose calls add a number to its static state, in a jar of its own. */
    private Path counting(String name, int step) throws Exception {
        return JarOf.source(
                Files.createDirectories(folder.resolve(name)),
                NAME,
                """
                public class Counts implements java.util.function.IntSupplier {
                    private static int count;
                    @Override
                    public int getAsInt() {
                        return count += %d;
                    }
                }
                """
                        .formatted(step));
    }

    /** What jobs that follow each other find, in a JVM with a class path. */
    private List<Integer> foundByTwoJobs(Path... classPath) throws Exception {
        URL[] urls = new URL[classPath.length];
        for (int at = 0; at < urls.length; at++) {
            urls[at] = classPath[at].toUri().toURL();
        }
        try (URLClassLoader jvm = new URLClassLoader(urls, getClass().getClassLoader())) {
            return List.of(found(jvm), found(jvm));
        }
    }

    private int found(ClassLoader jvm) throws Exception {
        try (URLClassLoader job = JobClasses.load(conf, JobJar.open(conf, "job_1_0001"), List.of(), jvm)) {
            Object one = job.loadClass(NAME).getConstructor().newInstance();
            Object other = job.loadClass(NAME).getConstructor().newInstance();
            ((java.util.function.IntSupplier) one).getAsInt();
            return ((java.util.function.IntSupplier) other).getAsInt();
        }
    }

    private Path copy() throws Exception {
        return Files.copy(jar, folder.resolve("copy.jar"));
    }

    @Test
    void aJarThatTheJvmHasNotIsLoadedForEachJob() throws Exception {
        assertEquals(List.of(2, 2), foundByTwoJobs());
    }

    @Test
    void stateOfTheJvmsOwnClassesIsSharedIfNotAskedOtherwise() throws Exception {
        assertEquals(List.of(2, 4), foundByTwoJobs(copy()));
    }

    @Test
    void aJarThatTheJvmHasTooIsLoadedForEachJobIfApart() throws Exception {
        conf.setBoolean(Settings.CLASSES_APART, true);
        assertEquals(List.of(2, 2), foundByTwoJobs(folder, copy()));
    }

    @Test
    void otherCodeOfTheJvmStillGoesFirst() throws Exception {
        conf.setBoolean(Settings.CLASSES_APART, true);
        assertEquals(List.of(10, 20), foundByTwoJobs(counting("other", 5), copy()));
    }

    @Test
    void foldersOfTheJvmStillGoFirst() throws Exception {
        conf.setBoolean(Settings.CLASSES_APART, true);
        assertEquals(List.of(2, 4), foundByTwoJobs(jar.resolveSibling("classes"), copy()));
    }

    @Test
    void aJobThatNamesAClassOfTheJvmAloneSharesAllWithIt() throws Exception {
        Path other =
                JarOf.source(Files.createDirectories(folder.resolve("other")), "Extends", "public class Extends {}");
        conf.setBoolean(Settings.CLASSES_APART, true);
        assertEquals(List.of(2, 2), foundByTwoJobs(copy(), other));
        conf.set("some.class", "Extends");
        assertEquals(List.of(2, 4), foundByTwoJobs(folder.resolve("copy.jar"), other));
        conf.set("some.class", "NotThere");
        assertEquals(List.of(2, 2), foundByTwoJobs(folder.resolve("copy.jar"), other));
    }

    /** An open jar was shared by all loaders of the JVM, and closed by the first one that ended while others read it. */
    @Test
    void theEndOfAJobDoesNotDisturbOthersWithItsJar() throws Exception {
        ExecutorService jobs = Executors.newFixedThreadPool(4);
        try {
            List<Future<Integer>> all = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                all.add(jobs.submit(() -> found(getClass().getClassLoader())));
            }
            for (Future<Integer> each : all) {
                assertEquals(2, each.get());
            }
        } finally {
            jobs.shutdownNow();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theEndOfAJobDoesNotEndWhatOthersReadOfItsJar(boolean ownFirst) throws Exception {
        conf.setBoolean("mapreduce.job.classloader", ownFirst);
        URLClassLoader ends = load();
        try (URLClassLoader goesOn = load()) {
            try (InputStream read = goesOn.getResourceAsStream(NAME + ".class")) {
                ends.getResourceAsStream(NAME + ".class").readNBytes(1);
                ends.close();
                assertEquals(0xCA, read.read());
                assertTrue(read.readAllBytes().length > 100);
            }
            assertNull(goesOn.getResourceAsStream("none"));
        }
    }

    private URLClassLoader load() throws Exception {
        return JobClasses.load(
                conf, JobJar.open(conf, "job_1_0001"), List.of(), getClass().getClassLoader());
    }

    @Test
    void aJobWithoutAJarFindsTheJvmsClasses() throws Exception {
        conf.setBoolean(Settings.CLASSES_APART, true);
        conf.unset("mapreduce.job.jar");
        assertEquals(List.of(2, 4), foundByTwoJobs(copy()));
    }
}
