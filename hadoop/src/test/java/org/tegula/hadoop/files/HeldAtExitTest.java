package org.tegula.hadoop.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.Jvms;

/** The end of a JVM waits for the files that it alone has, however long the disk takes. */
@Timeout(60)
class HeldAtExitTest {
    private static final int FILES = 3;

    @TempDir
    Path folder;

    @Test
    void allFilesAreOnASlowDisk() throws Exception {
        Path settings = folder.resolve("short-shutdown.xml");
        Files.writeString(
                settings,
                "<configuration><property><name>hadoop.service.shutdown.timeout</name><value>1s</value></property>"
                        + "</configuration>");
        List<String> command = Jvms.command(Holds.class, "-Xmx256m");
        command.add(folder.toString());
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("said").toFile())
                .start();
        assertTrue(process.waitFor(40, TimeUnit.SECONDS));
        String said = Files.readString(folder.resolve("said"));
        assertEquals(0, process.exitValue(), said);
        for (int i = 0; i < FILES; i++) {
            Path file = folder.resolve("held/file" + i);
            assertTrue(Files.exists(file), said);
            assertEquals("text", Files.readString(file));
        }
    }

    /** A program that leaves files in memory, over a disk that takes longer for all of them than Hadoop waits. */
    static final class Holds {
        private HeldFiles held;

        public static void main(String[] arguments) throws Exception {
            URL[] settings = {Path.of(arguments[0]).toUri().toURL()};
            Thread.currentThread().setContextClassLoader(new URLClassLoader(settings));
            Configuration.addDefaultResource("short-shutdown.xml");
            new Holds().hold(new org.apache.hadoop.fs.Path(arguments[0], "held"));
            System.exit(0);
        }

        private void hold(org.apache.hadoop.fs.Path folder) throws IOException {
            Configuration conf = new Configuration();
            LocalDisk disk = new LocalDisk();
            disk.initialize(URI.create("file:///"), conf);
            held = new HeldFiles(disk, new Slow(new LocalBelow(disk)), new HeldTree(), () -> held, conf);
            assertTrue(held.hold(folder));
            for (int i = 0; i < FILES; i++) {
                try (OutputStream out = held.create(new org.apache.hadoop.fs.Path(folder, "file" + i), null, true)) {
                    out.write("text".getBytes(StandardCharsets.UTF_8));
                }
            }
        }
    }

    private record Slow(Below below) implements Below {
        @Override
        public FileSystem files() {
            return below.files();
        }

        @Override
        public String name(org.apache.hadoop.fs.Path path) throws IOException {
            return below.name(path);
        }

        @Override
        public org.apache.hadoop.fs.Path path(String name) {
            return below.path(name);
        }

        @Override
        public Object folder(String name) throws IOException {
            return below.folder(name);
        }

        @Override
        public boolean has(String name) {
            return below.has(name);
        }

        @Override
        public boolean place(org.apache.hadoop.fs.Path from, org.apache.hadoop.fs.Path to) throws IOException {
            try {
                Thread.sleep(700);
            } catch (InterruptedException e) {
                throw (IOException) new InterruptedIOException("The disk was not waited for").initCause(e);
            }
            return below.place(from, to);
        }

        @Override
        public boolean isLocal() {
            return below.isLocal();
        }
    }
}
