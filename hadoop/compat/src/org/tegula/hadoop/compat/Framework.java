package org.tegula.hadoop.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Who runs the jobs of a program that asks for {@code local}: Hadoop's local runner, or the engine, which claims them. */
enum Framework {
    LOCAL {
        @Override
        String classPath() {
            return System.getProperty("java.class.path");
        }
    },
    TEGULA {
        @Override
        String classPath() {
            Path jar = Path.of(System.getProperty("tegula.jar"));
            assertTrue(Files.isRegularFile(jar), () -> jar + " is missing: `mvn package` in hadoop/ makes it");
            return jar + File.pathSeparator + System.getProperty("java.class.path");
        }
    };

    private static final long MOST_MINUTES = 10;

    abstract String classPath();

    /**
     * The results of a program.
     *
     * @param log all that it printed
     * @param jobs the names of the submitted jobs
     * @param files below {@code out} in its working folder, with their bytes as Latin-1
     */
    record Outcome(String log, List<String> jobs, Map<String, String> files) {
        /** Joins the part files of a folder; takes out the file's names and checksums. */
        private void join(String folder) {
            StringBuilder all = new StringBuilder();
            files.forEach((name, content) -> all.append(name.startsWith(folder + "/part-") ? content : ""));
            files.keySet().removeIf(name -> name.startsWith(folder + "/"));
            files.put(folder, all.toString());
        }
    }

    /**
     * Runs a program in a JVM and a working folder of its own, to a good end.
     *
     * @param folder in which the working folder is made; the program finds its folder {@code in} there as {@code in}
     * @param program the main class and its arguments
     * @return the results
     */
    Outcome run(Path folder, List<String> program) throws Exception {
        Path home = Files.createDirectories(folder.resolve(name()));
        Files.createSymbolicLink(home.resolve("in"), folder.resolve("in"));
        Path site = Files.createDirectories(home.resolve("site"));
        Files.writeString(
                site.resolve("mapred-site.xml"),
                """
                <configuration>
                  <property><name>mapreduce.framework.name</name><value>local</value></property>
                  <property><name>tegula.claim.local</name><value>%s</value></property>
                  <property><name>hadoop.tmp.dir</name><value>%s/tmp</value></property>
                </configuration>
                """
                        .formatted(this == TEGULA, home));
        Files.writeString(
                site.resolve("log4j.properties"),
                """
                log4j.rootLogger=WARN,console
                log4j.logger.org.apache.hadoop.mapreduce.JobSubmitter=INFO
                log4j.appender.console=org.apache.log4j.ConsoleAppender
                log4j.appender.console.layout=org.apache.log4j.PatternLayout
                log4j.appender.console.layout.ConversionPattern=%p %c{1}: %m%n
                """);
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dtegula.claim.local=" + (this == TEGULA),
                "-Dhadoop.tmp.dir=" + home + "/tmp",
                "-Djava.io.tmpdir=" + Files.createDirectories(home.resolve("jvm")),
                "-cp",
                site + File.pathSeparator + classPath()));
        command.addAll(program);
        Path log = home.resolve("log.txt");
        Process process = new ProcessBuilder(command)
                .directory(home.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            assertTrue(process.waitFor(MOST_MINUTES, TimeUnit.MINUTES), this + " does not end");
        } finally {
            process.destroyForcibly();
        }
        String text = Files.readString(log);
        System.out.println(this + ":\n" + text);
        assertEquals(0, process.exitValue(), text);
        return new Outcome(text, jobs(text), files(home.resolve("out")));
    }

    /** The client says of each job that it submits it; the local runner's names begin with {@code job_local}. */
    private static List<String> jobs(String log) {
        String words = "Submitting tokens for job: ";
        return log.lines()
                .filter(line -> line.contains(words))
                .map(line -> line.substring(line.indexOf(words) + words.length()))
                .toList();
    }

    private static Map<String, String> files(Path folder) throws IOException {
        Map<String, String> files = new TreeMap<>();
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : (Iterable<Path>) paths.filter(Files::isRegularFile)::iterator) {
                files.put(folder.relativize(path).toString(), Files.readString(path, StandardCharsets.ISO_8859_1));
            }
        }
        return files;
    }

    /**
     * Runs a program under both at once and compares the files that it leaves, to the byte.
     *
     * @param leastJobs how many jobs it makes, or more
     * @param cutAnywhere folders whose contents the program divides into files by chance
     * @return the results under the engine
     */
    static Outcome compare(Path folder, int leastJobs, List<String> program, String... cutAnywhere) throws Exception {
        FutureTask<Outcome> local = new FutureTask<>(() -> LOCAL.run(folder, program));
        new Thread(local, "local").start();
        Outcome ours = TEGULA.run(folder, program);
        Outcome right = local.get();
        for (String each : cutAnywhere) {
            right.join(each);
            ours.join(each);
        }
        assertTrue(right.jobs().stream().allMatch(job -> job.startsWith("job_local")), right.jobs()::toString);
        assertTrue(ours.jobs().stream().noneMatch(job -> job.startsWith("job_local")), ours.jobs()::toString);
        assertEquals(right.jobs().size(), ours.jobs().size());
        assertTrue(ours.jobs().size() >= leastJobs, ours.jobs()::toString);
        assertEquals(right.files().keySet(), ours.files().keySet());
        right.files()
                .forEach((name, content) -> assertEquals(content, ours.files().get(name), name));
        return ours;
    }
}
