package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** Who drops all that a server has in memory hears of what cannot be written, and all else is on the disk. */
class ServedFilesTest {
    @TempDir
    Path folder;

    @Test
    void tellsOfAFileThatCannotBeWritten() throws IOException {
        Configuration conf = new Configuration();
        CachedLocalFileSystem files = new CachedLocalFileSystem();
        files.initialize(URI.create("file:///"), conf);
        org.apache.hadoop.fs.Path root =
                new org.apache.hadoop.fs.Path(folder.toUri().getPath(), "temp");
        assertTrue(files.hold(root));
        for (String each : new String[] {"a/file", "b"}) {
            try (FSDataOutputStream out = files.getRaw().create(new org.apache.hadoop.fs.Path(root, each))) {
                out.writeBytes("text");
            }
        }
        Files.createDirectory(folder.resolve("temp"));
        Path inTheWay = Files.createFile(folder.resolve("temp/a"));
        ServedFiles served = new ServedFiles(PairCache.shared(conf), conf);
        assertThrows(IOException.class, () -> served.drop(""));
        assertEquals("text", Files.readString(folder.resolve("temp/b")));
        Files.delete(inTheWay);
        served.drop("");
        assertEquals("text", Files.readString(folder.resolve("temp/a/file")));
        files.delete(root, true);
    }
}
