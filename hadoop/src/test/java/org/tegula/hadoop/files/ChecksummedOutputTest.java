package org.tegula.hadoop.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files and their checksums are those that Hadoop's own file system writes. */
class ChecksummedOutputTest {
    @TempDir
    java.nio.file.Path folder;

    private final Configuration conf = new Configuration();
    private CachedLocalFileSystem ours;
    private LocalFileSystem hadoops;

    private void open() throws IOException {
        ours = new CachedLocalFileSystem();
        ours.initialize(URI.create("file:///"), conf);
        hadoops = new LocalFileSystem();
        hadoops.initialize(URI.create("file:///"), conf);
    }

    @BeforeEach
    void openBoth() throws IOException {
        open();
    }

    private Path path(String name) {
        return new Path(folder.resolve(name).toUri());
    }

    private byte[] bytes(String name) throws IOException {
        return Files.readAllBytes(folder.resolve(name));
    }

    /** Writes bytes in pieces of all sizes, some of them one by one. */
    private static long write(FileSystem files, Path path, byte[] data, int largest, long seed) throws IOException {
        Random random = new Random(seed);
        try (FSDataOutputStream out = files.create(path)) {
            for (int at = 0; at < data.length; ) {
                int part = Math.min(data.length - at, random.nextInt(largest + 1));
                if (part == 1) {
                    out.write(data[at]);
                } else {
                    out.write(data, at, part);
                }
                at += part;
                if (random.nextInt(20) == 0) {
                    out.flush();
                }
            }
            return out.getPos();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, 1, 512",
        "1, 1, 512",
        "511, 2, 512",
        "512, 600, 512",
        "513, 600, 512",
        "65536, 65536, 512",
        "65537, 9, 512",
        "1000000, 3, 512",
        "1000000, 10000, 512",
        "1000000, 300000, 512",
        "1000000, 300000, 100",
        "1000000, 300000, 200000"
    })
    void writesWhatHadoopWrites(int length, int largest, int chunk) throws Exception {
        conf.setInt("file.bytes-per-checksum", chunk);
        open();
        byte[] data = new byte[length];
        new Random(length).nextBytes(data);
        assertEquals(length, write(ours, path("ours"), data, largest, 7));
        write(hadoops, path("hadoops"), data, largest, 7);
        assertArrayEquals(bytes("hadoops"), bytes("ours"));
        assertArrayEquals(bytes(".hadoops.crc"), bytes(".ours.crc"));
        assertEquals(
                hadoops.getFileStatus(path("hadoops")).getPermission(),
                ours.getFileStatus(path("ours")).getPermission());
        try (FSDataInputStream in = hadoops.open(path("ours"))) {
            assertArrayEquals(data, in.readAllBytes());
        }
    }

    @Test
    void countsTheFileAndItsChecksums() throws Exception {
        long before = written();
        write(ours, path("ours"), new byte[100_000], 10_000, 3);
        int chunks = 196;
        assertEquals(100_000 + 8 + 4 * chunks, written() - before);
    }

    @SuppressWarnings("deprecation") // the only statistics that are kept by class
    private static long written() {
        return FileSystem.getStatistics("file", HeldFileSystem.class).getBytesWritten();
    }

    @Test
    void findsOutWhenTheFileIsDamaged() throws Exception {
        write(ours, path("file"), new byte[2000], 100, 1);
        byte[] damaged = bytes("file");
        damaged[1000]++;
        Files.write(folder.resolve("file"), damaged);
        try (FSDataInputStream in = ours.open(path("file"))) {
            assertThrows(ChecksumException.class, in::readAllBytes);
        }
    }

    @Test
    void refusesWhatHadoopRefuses() throws Exception {
        FSDataOutputStream out = ours.create(path("file"));
        assertFalse(out.hasCapability("hsync"));
        out.close();
        out.close();
        assertThrows(ClosedChannelException.class, () -> out.write(new byte[1], 0, 1));
        assertThrows(ClosedChannelException.class, () -> out.write(1));
        assertThrows(FileAlreadyExistsException.class, () -> ours.create(path("file"), false));
        assertThrows(IOException.class, () -> ours.create(path("file/below")));
    }

    @Test
    void writesNoChecksumsIfThereAreToBeNone() throws Exception {
        ours.create(path("file")).close();
        assertTrue(Files.exists(folder.resolve(".file.crc")));
        ours.setWriteChecksum(false);
        ours.create(path("file")).close();
        assertFalse(Files.exists(folder.resolve(".file.crc")));
    }
}
