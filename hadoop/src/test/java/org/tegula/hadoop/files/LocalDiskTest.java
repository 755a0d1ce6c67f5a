package org.tegula.hadoop.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.FileNotFoundException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Without processes of its own, the disk looks as Hadoop shows it with them. */
class LocalDiskTest {
    @TempDir
    Path folder;

    private final LocalDisk ours = new LocalDisk();
    private final RawLocalFileSystem right = new RawLocalFileSystem();

    @BeforeEach
    void initialize() throws Exception {
        ours.initialize(URI.create("file:///"), new Configuration());
        right.initialize(URI.create("file:///"), new Configuration());
    }

    private static org.apache.hadoop.fs.Path hadoop(Path path) {
        return new org.apache.hadoop.fs.Path(path.toString());
    }

    private static List<Object> parts(FileStatus status) {
        return List.of(
                status.getPath(),
                status.isDirectory(),
                status.isDirectory() ? 0 : status.getLen(),
                status.getModificationTime(),
                status.getBlockSize(),
                status.getPermission(),
                status.getOwner(),
                status.getGroup());
    }

    @Test
    void saysTheSameOfFilesFoldersAndLinks() throws Exception {
        Path file = Files.writeString(folder.resolve("file: with a colon"), "abc");
        Path sub = Files.createDirectory(folder.resolve("folder"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        right.setPermission(hadoop(sub), new FsPermission((short) 01751));
        right.setPermission(hadoop(file), new FsPermission((short) 0640));
        // As the folder for temporary files, but nobody else changes it meanwhile.
        Path forAll = Files.createDirectory(folder.resolve("for all"));
        right.setPermission(hadoop(forAll), new FsPermission((short) 01777));
        for (Path path : List.of(file, sub, link, forAll)) {
            assertEquals(parts(right.getFileStatus(hadoop(path))), parts(ours.getFileStatus(hadoop(path))));
        }
        FileStatus[] expected = right.listStatus(hadoop(folder));
        FileStatus[] found = ours.listStatus(hadoop(folder));
        assertEquals(expected.length, found.length);
    }

    @Test
    void setsPermissionsAsHadoopDoes() throws Exception {
        Path file = Files.writeString(folder.resolve("file"), "abc");
        for (int mode : new int[] {0600, 0777, 01755, 0444}) {
            ours.setPermission(hadoop(file), new FsPermission((short) mode));
            assertEquals(mode, right.getFileStatus(hadoop(file)).getPermission().toShort());
        }
    }

    @Test
    void namesWhatIsMissing() throws Exception {
        Path below = Files.writeString(folder.resolve("file"), "abc").resolve("below");
        for (Path path : List.of(folder.resolve("missing"), below)) {
            String expected = assertThrows(FileNotFoundException.class, () -> right.getFileStatus(hadoop(path)))
                    .getMessage();
            assertEquals(
                    expected,
                    assertThrows(FileNotFoundException.class, () -> ours.getFileStatus(hadoop(path)))
                            .getMessage());
        }
        assertThrows(
                FileNotFoundException.class,
                () -> ours.setPermission(hadoop(folder.resolve("missing")), new FsPermission((short) 0600)));
    }
}
