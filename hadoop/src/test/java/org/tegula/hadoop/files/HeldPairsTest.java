package org.tegula.hadoop.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileRecordReader;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.cache.BlockCursor;
import org.tegula.hadoop.cache.PairBlock;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.PairsLost;
import org.tegula.hadoop.cache.PlacedPairs;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.live.KnownSize;

/** To all readers, a file of pairs alone is the sequence file that Hadoop would have written. */
class HeldPairsTest {
    private static final int MARK_BYTES = 16;

    @TempDir
    java.nio.file.Path folder;

    private final Configuration conf = new Configuration();
    private CachedLocalFileSystem files;
    private PairCache cache;
    private Path root;
    private long before;

    @BeforeEach
    void hold() throws IOException {
        files = new CachedLocalFileSystem();
        files.initialize(URI.create("file:///"), conf);
        root = new Path(folder.toUri().getPath(), "temp");
        cache = PairCache.shared(conf);
        cache.clear();
        before = cache.usedBytes();
        assertTrue(files.hold(root));
    }

    /** What other tests of this JVM left in memory may go to the disk meanwhile. */
    @AfterEach
    void delete() throws IOException {
        files.delete(root, true);
        assertTrue(cache.usedBytes() <= before, () -> cache.usedBytes() + " bytes, not " + before);
    }

    private SequencePairsWriter writer(Path file, boolean promised, Class<?> valueType) throws IOException {
        return files.createPairs(
                file, new SequencePairsWriter.Types(Text.class, valueType, promised, new KnownSize(), 1, conf));
    }

    /** Values of all sizes, so that sync markers are everywhere. */
    private static List<Writable> pairs(long seed, int count, int largest) {
        Random random = new Random(seed);
        List<Writable> pairs = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[random.nextInt(largest)];
            random.nextBytes(bytes);
            pairs.add(new Text("key" + i));
            pairs.add(new BytesWritable(bytes));
        }
        return pairs;
    }

    private Path write(String name, boolean promised, List<Writable> pairs) throws IOException {
        Path file = new Path(root, name);
        SequencePairsWriter writer = writer(file, promised, BytesWritable.class);
        for (int i = 0; i < pairs.size(); i += 2) {
            writer.add(pairs.get(i), pairs.get(i + 1));
        }
        long length = writer.close();
        assertEquals(length, files.getFileStatus(file).getLen());
        return file;
    }

    private Path writeOnDisk(List<Writable> pairs) throws IOException {
        Path file = new Path(folder.toUri().getPath(), "disk");
        try (SequenceFile.Writer writer = SequenceFile.createWriter(
                conf,
                SequenceFile.Writer.file(file),
                SequenceFile.Writer.keyClass(Text.class),
                SequenceFile.Writer.valueClass(BytesWritable.class),
                SequenceFile.Writer.compression(SequenceFile.CompressionType.NONE))) {
            for (int i = 0; i < pairs.size(); i += 2) {
                writer.append(pairs.get(i), pairs.get(i + 1));
            }
        }
        return file;
    }

    private byte[] read(Path file) throws IOException {
        try (FSDataInputStream in = files.open(file)) {
            return in.readAllBytes();
        }
    }

    /** A sequence file with zeros for the mark that is drawn for each. */
    private static byte[] withoutMarks(byte[] file) {
        int header = 4
                + 1
                + Text.class.getName().length()
                + 1
                + BytesWritable.class.getName().length()
                + 2
                + 4;
        byte[] mark = Arrays.copyOfRange(file, header, header + MARK_BYTES);
        for (int i = header; i + MARK_BYTES <= file.length; i++) {
            if (Arrays.equals(file, i, i + MARK_BYTES, mark, 0, MARK_BYTES)) {
                Arrays.fill(file, i, i + MARK_BYTES, (byte) 0);
            }
        }
        return file;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 30, 3_000})
    void isTheFileThatHadoopWrites(int count) throws IOException {
        List<Writable> pairs = pairs(count, count, 3_000);
        byte[] right = withoutMarks(Files.readAllBytes(
                java.nio.file.Path.of(writeOnDisk(pairs).toUri().getPath())));
        for (boolean promised : new boolean[] {true, false}) {
            Path file = write("file" + promised, promised, pairs);
            assertEquals(right.length, files.listStatus(file)[0].getLen());
            assertArrayEquals(right, withoutMarks(read(file)));
            assertArrayEquals(
                    read(file), Files.readAllBytes(files.pathToFile(file).toPath()));
        }
    }

    @Test
    void makesNoBytesUntilItIsOpened() throws IOException {
        Path file = write("file", true, pairs(1, 2_000, 3_000));
        long length = files.getFileStatus(file).getLen();
        long pairsAlone = cache.usedBytes() - before;
        assertTrue(pairsAlone < length * 5 / 4, pairsAlone + " bytes are held of " + length);
        Path other = new Path(root, "other");
        assertTrue(files.rename(file, other));
        assertNotNull(((HeldFileSystem) files.getRaw()).pairs(other).find(0, length, conf));
        assertEquals(pairsAlone, cache.usedBytes() - before);
        byte[] bytes = read(other);
        assertTrue(cache.usedBytes() - before >= pairsAlone + length);
        assertArrayEquals(bytes, read(other));
        assertFalse(Files.exists(folder.resolve("temp")));
    }

    /** Every split has the pairs that Hadoop's own reader finds in it, wherever it begins and ends. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void givesEachSplitThePairsThatHadoopReads(boolean promised) throws Exception {
        List<Writable> pairs = pairs(2, 600, 3_000);
        Path right = writeOnDisk(pairs);
        Path file = write("file", promised, pairs);
        long length = files.getFileStatus(file).getLen();
        List<Long> places =
                new ArrayList<>(List.of(0L, 1L, 90L, 100L, 110L, length - 21, length - 20, length - 1, length));
        byte[] bytes = Files.readAllBytes(java.nio.file.Path.of(right.toUri().getPath()));
        byte[] zeros = withoutMarks(bytes.clone());
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] != zeros[i] && (i == 0 || bytes[i - 1] == zeros[i - 1])) {
                for (int near = -6; near <= 2; near++) {
                    places.add((long) i + near);
                }
            }
        }
        Random random = new Random(3);
        places.addAll(random.longs(20, 0, length).boxed().toList());
        for (int trial = 0; trial < 800; trial++) {
            long start = places.get(random.nextInt(places.size()));
            long end = places.get(random.nextInt(places.size()));
            if (start < end && end <= length) {
                assertEquals(
                        hadoopKeys(right, start, end - start),
                        keys(file, start, end - start),
                        "from " + start + " to " + end + " of " + length);
            }
        }
    }

    private List<String> hadoopKeys(Path file, long start, long length) throws Exception {
        List<String> keys = new ArrayList<>();
        try (SequenceFileRecordReader<Text, BytesWritable> reader = new SequenceFileRecordReader<>()) {
            reader.initialize(
                    new FileSplit(file, start, length, null), new TaskAttemptContextImpl(conf, new TaskAttemptID()));
            while (reader.nextKeyValue()) {
                keys.add(reader.getCurrentKey().toString());
            }
        }
        return keys;
    }

    private List<String> keys(Path file, long start, long length) throws IOException {
        PairBlock block = ((HeldFileSystem) files.getRaw()).pairs(file).find(start, length, conf);
        List<String> keys = new ArrayList<>();
        BlockCursor cursor = block.open(conf);
        while (cursor.next()) {
            keys.add(cursor.key(null).toString());
            assertEquals(((BytesWritable) cursor.value(null)).getLength() + 4, cursor.valueBytes());
        }
        assertEquals(keys.size(), block.pairs());
        return keys;
    }

    @Test
    void losesNoPairIfThereIsNoRoom() throws IOException {
        List<Writable> pairs = pairs(4, 2_000, 3_000);
        long taken = cache.limitBytes() - cache.usedBytes() - (8 << 20);
        assertTrue(cache.reserve(taken));
        try {
            byte[] right = withoutMarks(read(writeOnDisk(pairs)));
            for (int i = 0; i < 5; i++) {
                write("file" + i, i != 3, pairs);
            }
            assertTrue(Files.exists(folder.resolve("temp/file0")));
            assertFalse(Files.exists(folder.resolve("temp/file4")));
            for (int i = 0; i < 5; i++) {
                assertArrayEquals(right, withoutMarks(read(new Path(root, "file" + i))), "file" + i);
            }
            List<Writable> many = pairs(5, 8_000, 3_000);
            Path large = write("large", true, many);
            assertTrue(Files.exists(folder.resolve("temp/large")));
            assertArrayEquals(withoutMarks(read(writeOnDisk(many))), withoutMarks(read(large)));
            files.delete(root, true);
            assertEquals(taken + before, cache.usedBytes());
        } finally {
            cache.release(taken);
        }
    }

    @Test
    void isOnTheDiskOnceItIsOpenedWithoutRoomForItsBytes() throws IOException {
        List<Writable> pairs = pairs(6, 1_000, 3_000);
        Path file = write("file", true, pairs);
        long taken = cache.limitBytes() - cache.usedBytes() - (1 << 10);
        assertTrue(cache.reserve(taken));
        try {
            assertArrayEquals(withoutMarks(read(writeOnDisk(pairs))), withoutMarks(read(file)));
            assertTrue(Files.exists(folder.resolve("temp/file")));
            assertEquals(taken + before, cache.usedBytes());
        } finally {
            cache.release(taken);
        }
    }

    @Test
    void refusesPairsThatWereChanged() throws IOException {
        List<Writable> pairs = pairs(7, 10, 100);
        Path file = write("file", true, pairs);
        ((BytesWritable) pairs.get(1)).setSize(2_000);
        String message = assertThrows(IOException.class, () -> files.open(file)).getMessage();
        assertTrue(message.contains("ImmutableOutput"), message);
        assertThrows(IOException.class, () -> ((HeldFileSystem) files.getRaw()).writeToDisk(file));
        try (var left = Files.list(folder.resolve("temp"))) {
            assertEquals(0, left.count());
        }
    }

    /** The place that alone had the pairs of one file is gone. */
    @Test
    void aFileThatIsLostTakesNoOtherAlong() throws IOException {
        HeldFileSystem raw = (HeldFileSystem) files.getRaw();
        for (int i = 0; i < 4; i++) {
            Path file = new Path(root, "file" + i);
            if (i == 1) {
                assertTrue(raw.held().addPairs(file, new PlacedPairs(100, 0, new Gone(), conf)));
            } else {
                write(file.getName(), true, pairs(i, 5, 100));
            }
        }
        PairsLost lost = assertThrows(PairsLost.class, () -> raw.writeToDisk(root));
        assertTrue(lost.getMessage().contains("it alone had " + folder.resolve("temp/file1")), lost.getMessage());
        for (int i = 0; i < 4; i++) {
            assertEquals(i != 1, Files.exists(folder.resolve("temp/file" + i)), "file" + i);
        }
    }

    private static final class Gone implements PlacedPairs.Source {
        @Override
        public String id() {
            return "gone";
        }

        @Override
        public void writeTo(OutputStream out) throws IOException {
            throw new PairsLost("Place 1");
        }

        @Override
        public void release() {}
    }

    /** Writes itself to nothing but a stream of Hadoop's kind. */
    public static final class Choosy implements Writable {
        @Override
        public void write(DataOutput out) throws IOException {
            ((DataOutputStream) out).writeInt(5);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            assertEquals(5, in.readInt());
        }
    }

    @Test
    void takesObjectsThatCannotBeMeasuredAsBytes() throws IOException {
        Path file = new Path(root, "file");
        SequencePairsWriter writer = writer(file, true, Choosy.class);
        for (int i = 0; i < 3; i++) {
            writer.add(new Text("key" + i), new Choosy());
        }
        assertEquals(writer.close(), read(file).length);
        PairBlock all = ((HeldFileSystem) files.getRaw()).pairs(file).find(0, Long.MAX_VALUE, conf);
        BlockCursor cursor = all.open(conf);
        for (int i = 0; i < 3; i++) {
            assertTrue(cursor.next());
            assertEquals("key" + i, cursor.key(new Text()).toString());
            cursor.value(new Choosy());
        }
        assertFalse(cursor.next());
    }

    @Test
    void refusesOtherClassesInHadoopsWords() throws IOException {
        SequencePairsWriter writer = writer(new Path(root, "file"), true, BytesWritable.class);
        String wrong = assertThrows(IOException.class, () -> writer.add(new Text(), new IntWritable()))
                .getMessage();
        assertEquals(
                "wrong value class: org.apache.hadoop.io.IntWritable is not class org.apache.hadoop.io.BytesWritable",
                wrong);
        writer.close();
    }

    @Test
    void givesItsRoomBackIfItIsDeletedWhileItIsWritten() throws IOException {
        for (boolean promised : new boolean[] {true, false}) {
            Path file = new Path(root, "file" + promised);
            SequencePairsWriter writer = writer(file, promised, BytesWritable.class);
            List<Writable> pairs = pairs(8, 500, 3_000);
            for (int i = 0; i < pairs.size(); i += 2) {
                if (i == 300) {
                    assertTrue(files.delete(file, false));
                }
                writer.add(pairs.get(i), pairs.get(i + 1));
            }
            writer.close();
            assertFalse(files.exists(file));
            assertEquals(before, cache.usedBytes());
        }
    }

    @Test
    void isNotUsedWhereAFileIsOrWouldBeOnTheDisk() throws IOException {
        assertNull(writer(new Path(folder.toUri().getPath(), "elsewhere"), true, BytesWritable.class));
        Path file = write("file", true, pairs(9, 3, 10));
        assertNull(writer(file, true, BytesWritable.class));
    }

    private interface Act {
        void run() throws IOException;
    }

    /** Writes a file that does something while it is written to the disk; returns its length. */
    private long writeWith(Path file, Act act) throws IOException {
        SequencePairsWriter writer = writer(file, true, Meanwhile.class);
        writer.add(new Text("key"), new Meanwhile());
        long length = writer.close();
        Meanwhile.does(() -> {
            try {
                act.run();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        return length;
    }

    private void writeToDisk(Path file) throws IOException {
        ((HeldFileSystem) files.getRaw()).writeToDisk(file);
    }

    private void assertListed(Path file) throws IOException {
        assertEquals(
                List.of(file.getName()),
                Arrays.stream(files.listStatus(file.getParent()))
                        .map(each -> each.getPath().getName())
                        .toList());
    }

    /** All files on the disk. */
    private List<java.nio.file.Path> left() throws IOException {
        try (Stream<java.nio.file.Path> all = Files.walk(folder)) {
            return all.filter(Files::isRegularFile).toList();
        }
    }

    @ParameterizedTest
    @CsvSource({"temp/d, temp/d, temp/e", "temp/d, temp, moved", "above/temp/d, above, moved"})
    void goesWithItsFolderOnItsWayToTheDisk(String in, String from, String to) throws IOException {
        assertTrue(files.hold(new Path(folder.toUri().getPath(), "above/temp")));
        Path file = new Path(folder.toUri().getPath(), in + "/file");
        Path moved = new Path(folder.toUri().getPath(), in.replaceFirst(from, to) + "/file");
        Path target = new Path(folder.toUri().getPath(), to);
        long length = writeWith(file, () -> {
            assertListed(file);
            assertTrue(files.rename(new Path(folder.toUri().getPath(), from), target));
            assertListed(moved);
        });
        writeToDisk(file);
        java.nio.file.Path right = java.nio.file.Path.of(moved.toUri().getPath());
        assertEquals(List.of(right), left());
        assertEquals(length, Files.size(right));
        assertFalse(Files.exists(folder.resolve(in)));
        files.delete(target, true);
    }

    @Test
    void leavesNothingWhenItsFolderIsDeletedOnItsWayToTheDisk() throws IOException {
        Path file = new Path(root, "d/file");
        writeWith(file, () -> files.delete(file.getParent(), true));
        writeToDisk(file);
        assertEquals(List.of(), left());
        assertFalse(files.exists(file.getParent()));
    }

    @Test
    void leavesItsFolderWhenItIsMovedOnItsWayToTheDisk() throws IOException {
        Path file = new Path(root, "d/file");
        Path moved = new Path(root, "file");
        long length = writeWith(file, () -> assertTrue(files.rename(file, moved)));
        writeToDisk(file);
        assertEquals(List.of(), left());
        writeToDisk(moved);
        assertEquals(List.of(folder.resolve("temp/file")), left());
        assertEquals(length, Files.size(folder.resolve("temp/file")));
    }

    @Test
    void doesNotComeBackWhenItIsReplacedOnItsWayToTheDisk() throws Exception {
        Path file = new Path(root, "file");
        Path next = write("next", true, pairs(5, 10, 1000));
        byte[] right = withoutMarks(read(next));
        writeWith(file, () -> assertTrue(files.rename(next, file)));
        writeToDisk(file);
        assertArrayEquals(right, withoutMarks(read(file)));
        assertEquals(List.of(folder.resolve("temp/file")), left(), "the new one is on the disk");
    }

    /** On its way to the disk, a file leaves its folder. */
    private void leaves(Path file, String how) throws IOException {
        if (how.equals("moved")) {
            assertTrue(files.rename(file, new Path(root, "elsewhere")));
            return;
        }
        if (how.equals("replaced")) {
            files.create(file, true).close();
        }
        if (how.equals("written by another")) {
            writeToDisk(file);
        }
        assertTrue(files.delete(file, false));
    }

    @ParameterizedTest
    @ValueSource(strings = {"deleted", "moved", "replaced", "written by another"})
    void aFolderThatItHasLeftOnItsWayToTheDiskIsReplacedAsAnEmptyOne(String how) throws IOException {
        Path file = new Path(root, "t/old");
        Path source = new Path(root, "s");
        writeToDisk(write("s/one", true, pairs(1, 5, 100)));
        write("s/two", true, pairs(2, 5, 100));
        writeWith(file, () -> {
            leaves(file, how);
            assertTrue(files.rename(source, file.getParent()));
        });
        writeToDisk(file);
        assertTrue(files.exists(new Path(root, "t/one")));
        assertTrue(files.exists(new Path(root, "t/two")));
        writeToDisk(new Path(root, "t"));
        assertEquals(Set.of(folder.resolve("temp/t/one"), folder.resolve("temp/t/two")), Set.copyOf(left()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"deleted", "moved", "replaced", "written by another"})
    void aFolderThatItHasLeftOnItsWayToTheDiskIsDeletedAsAnEmptyOne(String how) throws IOException {
        Path file = new Path(root, "t/old");
        writeWith(file, () -> {
            leaves(file, how);
            assertTrue(files.delete(file.getParent(), false));
        });
        writeToDisk(file);
        assertFalse(files.exists(file.getParent()));
        assertEquals(List.of(), left());
    }

    @Test
    void isOnTheDiskWhenItIsMovedAndMovedBackOnItsWay() throws IOException {
        Path file = new Path(root, "d/file");
        Path aside = new Path(root, "aside");
        long length = writeWith(file, () -> {
            assertTrue(files.rename(file, aside));
            assertTrue(files.rename(aside, file));
        });
        writeToDisk(file);
        assertEquals(List.of(folder.resolve("temp/d/file")), left());
        assertEquals(length, Files.size(folder.resolve("temp/d/file")));
    }

    /** Then nothing is held any more. */
    @Test
    void theFolderOfAnOutputThatIsDeletedOnItsWayToTheDiskIsDeletedAsAnEmptyOne() throws IOException {
        Path file = new Path(folder.toUri().getPath(), "other/temp");
        assertTrue(files.hold(file));
        writeWith(file, () -> {
            assertTrue(files.delete(file, false));
            files.delete(root, true);
            assertTrue(files.delete(file.getParent(), false));
        });
        writeToDisk(file);
        assertFalse(files.exists(file.getParent()));
    }

    @Test
    void aFolderThatIsRenamedOnItsWayToTheDiskHasItsPermissionThere() throws IOException {
        Path file = new Path(root, "d/file");
        Path moved = new Path(root, "e");
        writeWith(file, () -> assertTrue(files.rename(file.getParent(), moved)));
        files.setPermission(file.getParent(), new FsPermission((short) 0550));
        writeToDisk(root);
        java.nio.file.Path right = folder.resolve("temp/e");
        assertEquals(List.of(right.resolve("file")), left());
        assertEquals("r-xr-x---", PosixFilePermissions.toString(Files.getPosixFilePermissions(right)));
        files.setPermission(moved, new FsPermission((short) 0700));
    }
}
