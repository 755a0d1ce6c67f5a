package org.tegula.hadoop.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.cache.PairCache;

/** Files that are in memory alone look like files of the disk, whatever is done to them. */
class HeldFilesTest {
    @TempDir
    java.nio.file.Path folder;

    private final Configuration conf = new Configuration();
    private CachedLocalFileSystem files;
    private Path root;

    @BeforeEach
    void hold() throws IOException {
        files = new CachedLocalFileSystem();
        files.initialize(URI.create("file:///"), conf);
        root = new Path(folder.toUri().getPath(), "ours/temp");
        assertTrue(files.hold(root));
    }

    @AfterEach
    void delete() throws IOException {
        files.delete(root, true);
    }

    private void write(FileSystem system, Path path, String text) throws IOException {
        try (FSDataOutputStream out = system.create(path, true)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static String read(FileSystem system, Path path) throws IOException {
        try (FSDataInputStream in = system.open(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private java.nio.file.Path onDisk(Path path) {
        return java.nio.file.Path.of(path.toUri().getPath());
    }

    @Test
    void showsAFileThatIsNotOnTheDisk() throws IOException {
        Path file = new Path(root, "a/b");
        write(files, file, "text");
        assertEquals("text", read(files, file));
        FileStatus status = files.getFileStatus(file);
        assertEquals(4, status.getLen());
        assertEquals(file.toUri().getPath(), status.getPath().toUri().getPath());
        assertTrue(files.getFileStatus(root).isDirectory());
        assertEquals(1, files.listStatus(root.getParent()).length);
        assertEquals(4, files.getContentSummary(root.getParent()).getLength());
        assertEquals(1, files.globStatus(new Path(root, "*/b")).length);
        assertTrue(files.listFiles(root, true).hasNext());
        FsPermission ours = new FsPermission((short) 0700);
        files.setPermission(file, ours);
        assertEquals(ours, files.getFileStatus(file).getPermission());
        assertFalse(Files.exists(onDisk(root)));
        assertThrows(FileNotFoundException.class, () -> files.open(new Path(root, "a/c")));
    }

    @Test
    void putsAFileOnTheDiskForWhoeverWantsItThere() throws IOException {
        Path file = new Path(root, "a");
        write(files, file, "text");
        assertEquals("text", Files.readString(files.pathToFile(file).toPath()));
        assertEquals("text", read(files, file));
        Path other = new Path(root, "b");
        write(files, other, "more");
        try (FSDataOutputStream out = ((HeldFileSystem) files.getRaw()).append(other, 100, null)) {
            out.writeBytes(" and more");
        }
        assertEquals("more and more", Files.readString(onDisk(other)));
    }

    @Test
    void isOnTheDiskOnceTheJvmIsGone() throws IOException {
        write(files, new Path(root, "a/b"), "text");
        files.mkdirs(new Path(root, "c"));
        ((HeldFileSystem) files.getRaw()).writeAllToDisk();
        assertEquals("text", Files.readString(onDisk(new Path(root, "a/b"))));
        assertTrue(Files.isDirectory(onDisk(new Path(root, "c"))));
    }

    /** Permissions that the umask would not give, and a folder that nothing can be created in afterwards. */
    @Test
    void keepsItsPermissionsOnTheDisk() throws IOException {
        Path open = new Path(root, "open/all");
        Path closed = new Path(root, "closed/own");
        Path alone = new Path(root, "alone/own");
        for (Path each : List.of(open, closed, alone)) {
            write(files, each, "text");
        }
        files.setPermission(root, new FsPermission((short) 0700));
        files.setPermission(open.getParent(), new FsPermission((short) 01777));
        files.setPermission(closed.getParent(), new FsPermission((short) 0550));
        files.setPermission(alone.getParent(), new FsPermission((short) 0770));
        files.setPermission(open, new FsPermission((short) 0666));
        files.setPermission(closed, new FsPermission((short) 0400));
        HeldFileSystem raw = (HeldFileSystem) files.getRaw();
        raw.writeToDisk(alone);
        assertEquals("rwxrwx---", permissions(alone.getParent()));
        files.setPermission(alone.getParent(), new FsPermission((short) 0711));
        raw.writeAllToDisk();
        assertEquals("rwx------", permissions(root));
        assertEquals("rwxrwxrwx", permissions(open.getParent()));
        assertEquals(01777, (int) Files.getAttribute(onDisk(open.getParent()), "unix:mode") & 07777);
        assertEquals("rw-rw-rw-", permissions(open));
        assertEquals("r-xr-x---", permissions(closed.getParent()));
        assertEquals("r--------", permissions(closed));
        assertEquals("rwx--x--x", permissions(alone.getParent()));
        files.setPermission(closed.getParent(), new FsPermission((short) 0700));
    }

    private String permissions(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(onDisk(path)));
    }

    /** Nobody else can read the file while it is written. */
    @Test
    void isPrivateFromItsFirstByteOnTheDisk() throws IOException {
        PairCache cache = PairCache.shared(conf);
        cache.clear();
        long taken = cache.limitBytes() - cache.usedBytes() - (2 << 20);
        assertTrue(cache.reserve(taken));
        try {
            Path file = new Path(root, "secret/file");
            files.mkdirs(file.getParent());
            files.setPermission(file.getParent(), new FsPermission((short) 0700));
            try (FSDataOutputStream out = files.getRaw().create(file)) {
                out.writeBytes("x".repeat(4 << 20));
                assertTrue(Files.exists(onDisk(file)));
                assertEquals("rwx------", permissions(file.getParent()));
            }
        } finally {
            cache.release(taken);
        }
    }

    @Test
    void readsFromAnyPlace() throws IOException {
        byte[] bytes = new byte[5_000_000];
        new Random(4).nextBytes(bytes);
        Path file = new Path(root, "large");
        try (FSDataOutputStream out = files.create(file)) {
            out.write(bytes);
        }
        byte[] part = new byte[100_000];
        try (FSDataInputStream in = files.getRaw().open(file)) {
            in.seek(3_000_000);
            in.readFully(part);
            assertArrayEquals(Arrays.copyOfRange(bytes, 3_000_000, 3_100_000), part);
            in.readFully(17, part);
            assertArrayEquals(Arrays.copyOfRange(bytes, 17, 100_017), part);
            assertEquals(3_100_000, in.getPos());
        }
    }

    @Test
    void losesWhatIsDeletedOrReplacedBehindItsBack() throws IOException {
        Path file = new Path(root, "a");
        write(files, file, "text");
        Files.createDirectories(onDisk(root));
        Files.writeString(onDisk(file), "other");
        files.delete(new Path(root, ".a.crc"), false);
        assertEquals("other", read(files, file));
        write(files, new Path(root, "b"), "text");
        java.nio.file.Path parent = onDisk(root.getParent());
        Files.move(parent, parent.resolveSibling("elsewhere"));
        assertFalse(files.exists(root));
        Files.createDirectories(parent);
        assertFalse(files.exists(new Path(root, "b")));
    }

    @Test
    void goesToTheDiskIfThereIsNoRoom() throws IOException {
        PairCache cache = PairCache.shared(conf);
        cache.clear();
        long taken = cache.limitBytes() - cache.usedBytes() - (6 << 20);
        assertTrue(cache.reserve(taken));
        try {
            String mega = "x".repeat(1 << 20);
            for (int i = 0; i < 3; i++) {
                try (FSDataOutputStream out = files.getRaw().create(new Path(root, "file" + i))) {
                    for (int written = 0; written < (i == 2 ? 8 : 3); written++) {
                        out.writeBytes(mega);
                    }
                }
            }
            assertTrue(Files.exists(onDisk(new Path(root, "file0"))));
            assertTrue(Files.exists(onDisk(new Path(root, "file2"))));
            for (int i = 0; i < 3; i++) {
                Path file = new Path(root, "file" + i);
                long length = (i == 2 ? 8L : 3L) << 20;
                assertEquals(length, files.getFileStatus(file).getLen());
                try (FSDataInputStream in = files.open(file)) {
                    assertEquals(length, in.readAllBytes().length);
                }
            }
            files.delete(root, true);
            assertEquals(taken, cache.usedBytes());
            assertFalse(Files.exists(onDisk(root)));
        } finally {
            cache.release(taken);
        }
    }

    /** The name of a file may be as long as the disk allows. */
    @Test
    void isOnTheDiskWhateverItsName() throws IOException {
        Path file = new Path(root, "n".repeat(240));
        write(files.getRaw(), file, "text");
        ((HeldFileSystem) files.getRaw()).writeAllToDisk();
        assertEquals("text", Files.readString(onDisk(file)));
        try (Stream<java.nio.file.Path> all = Files.list(onDisk(root))) {
            assertEquals(List.of(onDisk(file)), all.toList());
        }
    }

    /** Others take what room there is, and then the disk. */
    @Test
    void leavesOthersInPeaceIfItCannotGo() throws IOException {
        PairCache cache = PairCache.shared(conf);
        cache.clear();
        long taken = cache.limitBytes() - cache.usedBytes() - (4 << 20);
        assertTrue(cache.reserve(taken));
        Path other = new Path(folder.toUri().getPath(), "others/temp");
        try {
            assertTrue(files.hold(other));
            Path stuck = new Path(root, "n".repeat(300)); // no disk takes it
            byte[] mega = new byte[1 << 20];
            for (Path each : List.of(stuck, new Path(other, "first"), new Path(other, "second"))) {
                try (FSDataOutputStream out = files.getRaw().create(each)) {
                    out.write(mega);
                    out.write(mega);
                }
            }
            assertEquals(2 << 20, Files.size(onDisk(new Path(other, "first"))));
            Path large = new Path(other, "large");
            try (FSDataOutputStream out = files.getRaw().create(large)) {
                for (int i = 0; i < 6; i++) {
                    out.write(mega);
                }
            }
            assertEquals(6 << 20, Files.size(onDisk(large)));
            assertEquals(2 << 20, files.getFileStatus(stuck).getLen());
            assertFalse(Files.exists(onDisk(root))
                    && Files.list(onDisk(root)).findAny().isPresent());
        } finally {
            files.delete(other, true);
            cache.release(taken);
        }
    }

    @Test
    void takesNoRoomOnceItWasDeletedWhileItWasWritten() throws IOException {
        PairCache cache = PairCache.shared(conf);
        long before = cache.usedBytes();
        Path file = new Path(root, "file");
        try (FSDataOutputStream out = files.getRaw().create(file)) {
            out.writeBytes("x".repeat(1 << 20));
            assertTrue(files.delete(file, false));
            out.writeBytes("y".repeat(1 << 20));
        }
        assertFalse(files.exists(file));
        assertEquals(before, cache.usedBytes());
    }

    /** A folder of the disk is the model: both are treated alike, and must answer and look alike. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void behavesAsTheDiskDoes(long seed) throws IOException {
        Random random = new Random(seed);
        LocalFileSystem model = new LocalFileSystem();
        model.initialize(URI.create("file:///"), conf);
        Path ours = root.getParent();
        Path right = new Path(folder.toUri().getPath(), "right");
        model.mkdirs(right);
        for (int step = 0; step < 150; step++) {
            int kind = random.nextInt(8);
            String one = name(random);
            String other = name(random);
            String text = "text" + step;
            String before = look(model, right).keySet().toString();
            String expected = answer(() -> act(model, right, kind, one, other, text));
            String found = answer(() -> act(files, ours, kind, one, other, text));
            String what = "step " + step + ": " + kind + " " + one + " " + other + " in " + before;
            assertEquals(expected, found, what);
            assertEquals(look(model, right), look(files, ours), what);
        }
        files.delete(ours, true);
    }

    private static String name(Random random) {
        StringBuilder name = new StringBuilder(random.nextInt(4) == 0 ? "other" : "temp");
        for (int depth = random.nextInt(3); depth > 0; depth--) {
            name.append('/').append((char) ('a' + random.nextInt(3)));
        }
        return name.toString();
    }

    private interface Act {
        Object run() throws IOException;
    }

    private static String answer(Act act) {
        try {
            return String.valueOf(act.run());
        } catch (IOException e) {
            return "fails";
        }
    }

    private Object act(FileSystem system, Path base, int kind, String one, String other, String text)
            throws IOException {
        Path path = new Path(base, one);
        return switch (kind) {
            case 0, 1 -> {
                write(system, path, text);
                yield "";
            }
            case 2 -> system.mkdirs(path);
            case 3 -> system.delete(path, false);
            case 4 -> one.indexOf('/') > 0 && system.delete(path, true);
            case 5, 6 -> isClear(system, path, new Path(base, other)) && system.rename(path, new Path(base, other));
            default -> read(system, path);
        };
    }

    /** Leaves out renames that Hadoop copies file by file over existing files: it mixes up their checksums. */
    private static boolean isClear(FileSystem system, Path from, Path to) throws IOException {
        if (from.equals(to) || !system.exists(from)) {
            return false;
        }
        if (!system.exists(to)) {
            return true;
        }
        boolean isFile = system.getFileStatus(from).isFile();
        return isFile && (system.getFileStatus(to).isFile() || !system.exists(new Path(to, from.getName())));
    }

    private static TreeMap<String, String> look(FileSystem system, Path base) throws IOException {
        TreeMap<String, String> found = new TreeMap<>();
        look(system, base, base.toUri().getPath().length(), found);
        return found;
    }

    private static void look(FileSystem system, Path folder, int prefix, TreeMap<String, String> found)
            throws IOException {
        for (FileStatus each : system.listStatus(folder)) {
            String name = each.getPath().toUri().getPath().substring(prefix);
            assertEquals(
                    each.isDirectory(), system.getFileStatus(each.getPath()).isDirectory());
            if (each.isDirectory()) {
                found.put(name, "folder");
                look(system, each.getPath(), prefix, found);
            } else {
                assertEquals(each.getLen(), read(system, each.getPath()).length());
                found.put(name, read(system, each.getPath()));
            }
        }
    }

    /** Makes a call that a file which is gone may fail. */
    private static boolean succeeds(Callable<Boolean> call) throws Exception {
        try {
            return call.call();
        } catch (FileNotFoundException e) {
            return false;
        }
    }

    @Test
    void onlyOneOfManyClientsMovesOrDeletesAFile() throws Exception {
        ExecutorService clients = Executors.newFixedThreadPool(3);
        FileSystem raw = files.getRawFileSystem();
        for (String folder : List.of("from", "one", "other")) {
            raw.mkdirs(new Path(root, folder));
        }
        for (int i = 0; i < 200; i++) {
            Path file = new Path(root, "from/" + i);
            Path one = new Path(root, "one/" + i);
            Path other = new Path(root, "other/" + i);
            write(raw, file, "text " + i);
            List<Future<Boolean>> calls = clients.invokeAll(List.of(
                    () -> succeeds(() -> raw.rename(file, one)),
                    () -> succeeds(() -> raw.rename(file, other)),
                    () -> succeeds(() -> raw.delete(file, false))));
            List<Boolean> done = new ArrayList<>();
            for (Future<Boolean> call : calls) {
                done.add(call.get());
            }
            assertEquals(1, done.stream().filter(each -> each).count(), () -> done.toString());
            assertFalse(raw.exists(file));
            assertEquals(done.get(0), raw.exists(one));
            assertEquals(done.get(1), raw.exists(other));
            if (!done.get(2)) {
                assertEquals("text " + i, read(raw, done.get(0) ? one : other));
            }
        }
        clients.shutdown();
    }
}
