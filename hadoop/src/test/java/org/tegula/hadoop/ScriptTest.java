package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands that the script {@code tegula-hadoop} gives to Java; a stand-in for Java records them. */
@Timeout(60)
class ScriptTest {
    private static final String PROGRAM = "org.tegula.hadoop.Launcher program.jar in out";

    @TempDir
    Path folder;

    private Path engine;
    private Path target;
    private Path conf;

    @BeforeEach
    void install() throws IOException {
        Path home = folder.toRealPath().resolve("home");
        target = Files.createDirectories(home.resolve("target"));
        conf = home.resolve("conf");
        Files.createDirectories(home.resolve("bin"));
        Files.copy(Path.of("bin/tegula-hadoop"), home.resolve("bin/tegula-hadoop"), StandardCopyOption.COPY_ATTRIBUTES);
        Files.writeString(home.resolve("pom.xml"), "");
        engine = Files.writeString(target.resolve("tegula-hadoop-0.1.0.jar"), "");
        Files.writeString(target.resolve("hadoop.classpath"), "a.jar:b.jar");
        Files.writeString(folder.resolve("program.jar"), "");
        program(
                "java",
                """
                echo "$@" >>"$NOTES"
                case "$1" in
                -XX:ArchiveClassesAtExit=*) [ -z "${FAILS:-}" ] || exit "$FAILS"; echo classes >"${1#*=}" ;;
                esac
                """);
        program("hadoop-home/bin/hadoop", "echo etc:c.jar\n");
    }

    private void program(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** Returns the commands given to Java, with names relative to the folder. */
    private List<String> run(Map<String, String> environment) throws Exception {
        return run(environment, "jar", "program.jar", "in", "out");
    }

    private List<String> run(Map<String, String> environment, String... arguments) throws Exception {
        Path notes = folder.resolve("notes");
        Files.deleteIfExists(notes);
        List<String> command = new ArrayList<>(List.of(arguments));
        command.add(0, target.resolveSibling("bin/tegula-hadoop").toString());
        ProcessBuilder script = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("said").toFile());
        script.environment()
                .keySet()
                .removeIf(name -> name.startsWith("HADOOP_") || name.startsWith("TEGULA_") || name.equals("JAVA_HOME"));
        script.environment().put("NOTES", notes.toString());
        script.environment().merge("PATH", folder + ":", (path, first) -> first + path);
        script.environment().putAll(environment);
        assertEquals(0, script.start().waitFor(), Files.readString(folder.resolve("said")));
        return Files.readAllLines(notes);
    }

    private Path archive() throws IOException {
        try (Stream<Path> all = Files.list(target)) {
            List<Path> found =
                    all.filter(each -> each.toString().contains(".jsa")).toList();
            assertEquals(1, found.size(), found.toString());
            return found.get(0);
        }
    }

    private String withArchive() throws IOException {
        return "-XX:SharedArchiveFile=" + archive() + " -cp " + engine + ":a.jar:b.jar:" + conf + " " + PROGRAM;
    }

    @Test
    void archivesClassesOnce() throws Exception {
        List<String> first = run(Map.of());
        assertEquals(2, first.size(), first.toString());
        String rehearsal =
                " -cp " + engine + ":a.jar:b.jar org.tegula.hadoop.Launcher " + engine + " org.tegula.hadoop.Rehearsal";
        assertTrue(first.get(0).matches("-XX:ArchiveClassesAtExit=\\S+\\.jsa\\.[0-9]+ -cp .*"), first.get(0));
        assertTrue(first.get(0).endsWith(rehearsal), first.get(0));
        assertEquals(withArchive(), first.get(1));
        assertEquals(List.of(withArchive()), run(Map.of()));
    }

    @Test
    void archivesThemAgainForAnotherEngine() throws Exception {
        run(Map.of());
        long later = Files.getLastModifiedTime(archive()).toMillis() + 1000;
        Files.setLastModifiedTime(engine, FileTime.fromMillis(later));
        assertEquals(2, run(Map.of()).size());
    }

    /** A JVM that has no archive of its own classes makes none of others, and ends well. */
    @ParameterizedTest
    @ValueSource(strings = {"0", "1"})
    void doesWithoutAnArchiveThatCannotBeMade(String exit) throws Exception {
        String without = "-cp " + engine + ":a.jar:b.jar:" + conf + " " + PROGRAM;
        List<String> first = run(Map.of("FAILS", exit));
        assertEquals(2, first.size());
        assertEquals(without, first.get(1));
        assertEquals(List.of(without), run(Map.of("FAILS", exit)));
    }

    @Test
    void letsUsersOptionsAndSettingsCount() throws Exception {
        run(Map.of());
        String asked = run(Map.of("HADOOP_OPTS", "-Xmx1g -Da=b", "HADOOP_CONF_DIR", "own"))
                .get(0);
        assertEquals(
                "-XX:SharedArchiveFile=" + archive() + " -Xmx1g -Da=b -cp " + engine + ":a.jar:b.jar:own:" + conf + " "
                        + PROGRAM,
                asked);
    }

    @Test
    void takesTheJarsOfAnInstalledHadoopAfterItsSettings() throws Exception {
        String home = folder.resolve("hadoop-home").toString();
        List<String> asked = run(Map.of("HADOOP_HOME", home, "HADOOP_CONF_DIR", "own"));
        assertEquals(List.of("-cp " + engine + ":own:etc:c.jar:" + conf + " " + PROGRAM), asked);
        try (Stream<Path> all = Files.list(target)) {
            assertFalse(all.anyMatch(each -> each.toString().contains(".jsa")));
        }
    }

    /** Which JVM, options and class path Hadoop's own command would take may be said in its hadoop-env.sh. */
    @Test
    void asksTheScriptsOfAnInstalledHadoop() throws Exception {
        program("jdk/bin/java", "echo own \"$@\" >>\"$NOTES\"\n");
        program(
                "hadoop-home/libexec/hadoop-config.sh",
                """
                [[ -n "$JAVA_HOME" ]] || exit 1
                JAVA=$(dirname "$HADOOP_HOME")/jdk/bin/java CLASSPATH=etc:c.jar HADOOP_OPTS="$HADOOP_OPTS -Da=b"
                hadoop_add_client_opts() { HADOOP_OPTS+=" $HADOOP_CLIENT_OPTS"; }
                hadoop_finalize() { HADOOP_OPTS+=" --add-opens=x"; echo finalized; }
                """);
        Map<String, String> environment = Map.of(
                "HADOOP_HOME",
                folder.resolve("hadoop-home").toString(),
                "HADOOP_OPTS",
                "-Xmx1g",
                "HADOOP_CLIENT_OPTS",
                "-Xmx2g",
                "PATH",
                folder.resolve("jdk/bin") + ":" + System.getenv("PATH"));
        assertEquals(
                List.of("own -Xmx1g -Da=b -Xmx2g --add-opens=x -cp " + engine + ":etc:c.jar:" + conf + " " + PROGRAM),
                run(environment));
    }

    @Test
    void honoursWhatHadoopsOwnScriptHonours() throws Exception {
        Path jdk = folder.resolve("jdk");
        program("jdk/bin/java", "echo own \"$@\" >>\"$NOTES\"\n");
        Map<String, String> environment =
                Map.of("JAVA_HOME", jdk.toString(), "HADOOP_CLIENT_OPTS", "-Xmx2g", "HADOOP_CLASSPATH", "more.jar");
        List<String> asked = run(environment);
        assertEquals("own -Xmx2g -cp " + engine + ":a.jar:b.jar:more.jar:" + conf + " " + PROGRAM, asked.get(1));
    }

    @Test
    void passesHadoopsCommandsOn() throws Exception {
        run(Map.of());
        String asked = run(Map.of(), "fs", "-ls", "a b").get(0);
        assertTrue(asked.endsWith(" org.tegula.hadoop.HadoopCommand fs -ls a b"), asked);
        Path lib = Files.createDirectories(folder.resolve("hadoop-home/share/hadoop/tools/lib"));
        Path distcp = Files.writeString(lib.resolve("hadoop-distcp-3.4.2.jar"), "");
        Files.writeString(lib.resolve("hadoop-aws-3.4.2.jar"), "");
        String home = folder.resolve("hadoop-home").toString();
        assertEquals(
                List.of("-cp " + engine + ":etc:c.jar:" + distcp + ":" + conf
                        + " org.tegula.hadoop.HadoopCommand distcp x y"),
                run(Map.of("HADOOP_HOME", home), "distcp", "x", "y"));
    }

    /** A release has its jar in lib, and no sources from which another could be built. */
    @Test
    void runsAsARelease() throws Exception {
        Path jar = Files.createDirectories(target.resolveSibling("lib")).resolve("tegula-hadoop-0.1.0.jar");
        Files.move(engine, jar);
        Files.delete(target.resolve("hadoop.classpath"));
        String home = folder.resolve("hadoop-home").toString();
        assertEquals(List.of("-cp " + jar + ":etc:c.jar:" + conf + " " + PROGRAM), run(Map.of("HADOOP_HOME", home)));
    }
}
