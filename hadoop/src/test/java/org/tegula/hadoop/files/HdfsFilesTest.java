package org.tegula.hadoop.files;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.FileSystemCounter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;
import org.apache.hadoop.security.UserGroupInformation;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.CacheFS;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.live.KnownSize;

/** Files that are in memory alone over HDFS: Hadoop's calls see them, HDFS does not, until somebody wants them there. */
@Timeout(300)
class HdfsFilesTest {
    @TempDir
    static java.nio.file.Path folder;

    private static MiniDFSCluster cluster;
    /** HDFS alone. */
    private static DistributedFileSystem plain;

    private static Configuration conf;
    private static CachedFileSystem files;

    @BeforeAll
    static void start() throws IOException {
        Configuration site = new Configuration();
        site.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.resolve("hdfs").toString());
        cluster = new MiniDFSCluster.Builder(site).numDataNodes(1).build();
        site.setInt("dfs.replication", 1);
        plain = (DistributedFileSystem) FileSystem.newInstance(cluster.getURI(), site);
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setInt("dfs.replication", 1);
        conf.set("fs.defaultFS", plain.getUri().toString());
        conf.setClass("fs.hdfs.impl", CachedFileSystem.class, FileSystem.class);
        files = (CachedFileSystem) FileSystem.newInstance(conf);
    }

    @AfterAll
    static void stop() throws IOException {
        CachedFileSystem.writeAllToDisk();
        FileSystem.closeAll();
        cluster.shutdown();
    }

    private static Path path(String name) {
        return plain.makeQualified(new Path(name));
    }

    private static void write(FileSystem target, Path path, String text) throws IOException {
        try (FSDataOutputStream out = target.create(path, true)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static String read(FileSystem source, Path path) throws IOException {
        try (FSDataInputStream in = source.open(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static Job counting(Path in, Path out) throws IOException {
        Job job = Jobs.wordCount(conf, java.nio.file.Path.of("/unused"), java.nio.file.Path.of("/unused"));
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        FileInputFormat.setInputPaths(job, in);
        FileOutputFormat.setOutputPath(job, out);
        return job;
    }

    private static Job summing(Path in, Path out) throws IOException {
        Job job = Job.getInstance(conf);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setReducerClass(IntSumReducer.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        FileInputFormat.setInputPaths(job, in);
        FileOutputFormat.setOutputPath(job, out);
        return job;
    }

    private static long found(Job job) throws IOException {
        return job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue();
    }

    /** The job's output has a length, and so a counter, but HDFS has heard of none of it. */
    @Test
    void anOutputGoesFromJobToJobPastHdfs() throws Exception {
        write(plain, path("/jobs/in.txt"), "one two two\nthree three three\n");
        Path counts = path("/jobs/temp-counts");
        Job first = counting(path("/jobs/in.txt"), counts);
        assertTrue(first.waitForCompletion(false));
        assertFalse(plain.exists(counts));
        FileStatus part = files.getFileStatus(new Path(counts, "part-r-00000"));
        assertEquals(
                part.getLen(),
                first.getCounters()
                        .findCounter("HDFS", FileSystemCounter.BYTES_WRITTEN)
                        .getValue());
        Job second = summing(counts, path("/jobs/text"));
        assertTrue(second.waitForCompletion(false));
        assertEquals(1, found(second));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", read(plain, path("/jobs/text/part-r-00000")));
        assertFalse(plain.exists(counts));
        assertEquals(3, countPairs(part.getPath()));
        assertTrue(files.delete(counts, true));
        assertFalse(files.exists(counts));
    }

    private static int countPairs(Path file) throws Exception {
        int pairs = 0;
        try (var reader = ((CacheFS) files).getCacheRecordReader(file)) {
            while (reader.nextKeyValue()) {
                pairs++;
            }
        }
        return pairs;
    }

    /** The bytes are those of a job that writes to HDFS. */
    @Test
    void anOutputGoesToHdfsWhenTheFileSystemsOfItsJobAreClosed() throws Exception {
        write(plain, path("/flushed/in.txt"), "one two two\nthree three three\n");
        assertTrue(
                counting(path("/flushed/in.txt"), path("/flushed/temp-counts")).waitForCompletion(false));
        FileSystem.get(conf).close();
        assertFalse(plain.exists(path("/flushed/temp-counts")));
        CachedFileSystem.writeAllToDisk();
        assertTrue(plain.exists(path("/flushed/temp-counts/_SUCCESS")));
        Job again = summing(path("/flushed/temp-counts"), path("/flushed/text"));
        assertTrue(again.waitForCompletion(false));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", read(plain, path("/flushed/text/part-r-00000")));
    }

    private static List<String> tree(Path root) throws IOException {
        Map<String, String> found = new TreeMap<>();
        collect(root, root, found);
        List<String> all = new ArrayList<>();
        found.forEach((name, what) -> all.add(name + " " + what));
        return all;
    }

    private static void collect(Path root, Path at, Map<String, String> found) throws IOException {
        for (FileStatus each : files.listStatus(at)) {
            String name = each.getPath().toString().substring(root.toString().length());
            found.put(name, each.isDirectory() ? "folder" : each.getLen() + " " + read(files, each.getPath()));
            if (each.isDirectory()) {
                collect(root, each.getPath(), found);
            }
        }
    }

    /** What a call says: its answer, or that it throws. */
    private static String said(Random random, Path root) {
        String first = name(random);
        String second = name(random);
        int what = random.nextInt(9);
        boolean choice = random.nextBoolean();
        String call = String.join(" ", Integer.toString(what), first, second, Boolean.toString(choice));
        return call + ": " + said(random, new Path(root, first), new Path(root, second), what, choice);
    }

    private static String said(Random random, Path one, Path other, int what, boolean choice) {
        try {
            switch (what) {
                case 0, 1 -> {
                    try (FSDataOutputStream out = files.create(one, choice)) {
                        out.writeBytes("text " + random.nextInt(1000));
                    }
                }
                case 2, 3 -> {
                    return "renamed " + files.rename(one, other);
                }
                case 4 -> {
                    return "deleted " + files.delete(one, choice);
                }
                case 5 -> {
                    return "made " + files.mkdirs(one);
                }
                case 6 -> files.createFile(one).overwrite(choice).build().close();
                case 7 -> files.setPermission(one, new FsPermission((short) 0640));
                default -> {
                    FileStatus status = files.getFileStatus(one);
                    return status.isDirectory() + " " + status.getLen() + " " + status.getPermission() + " "
                            + files.listStatus(one).length + " "
                            + files.getContentSummary(one).getFileCount();
                }
            }
            return "done";
        } catch (IOException e) {
            return "failed";
        }
    }

    private static String name(Random random) {
        return List.of("a", "b", "a/c", "a/d", "b/c", "a/d/e", "b/c/f").get(random.nextInt(7));
    }

    /** Random calls have the same answers and the same effects in memory and on HDFS. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void callsMeanWhatTheyMeanOnHdfs(int seed) throws Exception {
        Path real = path("/model/real" + seed);
        Path held = path("/model/held" + seed);
        assertTrue(files.hold(held));
        files.mkdirs(real);
        files.mkdirs(held);
        Random here = new Random(seed);
        Random there = new Random(seed);
        for (int call = 0; call < 250; call++) {
            String where = "call " + call;
            assertEquals(said(here, real), said(there, held), where);
            if (call % 10 == 0) {
                assertEquals(tree(real), tree(held), where);
            }
        }
        assertTrue(plain.exists(real));
        assertFalse(plain.exists(held));
        List<String> before = tree(held);
        files.writeToDisk(held);
        assertEquals(before.size(), plain.getContentSummary(held).getFileAndDirectoryCount() - 1);
        assertEquals(before, tree(held));
        assertTrue(files.delete(held, true));
        assertFalse(plain.exists(held));
    }

    @Test
    void otherCallsPutAFileOnHdfsFirst() throws Exception {
        Path held = path("/passed/temp");
        assertTrue(files.hold(held));
        Path file = new Path(held, "file");
        write(files, file, "text");
        RemoteIterator<LocatedFileStatus> located = files.listLocatedStatus(held);
        assertEquals(1, located.next().getBlockLocations().length);
        assertEquals(0, files.globStatus(new Path(held, "x*")).length);
        assertEquals("text", new String(files.openFile(file).build().get().readAllBytes(), StandardCharsets.UTF_8));
        assertFalse(plain.exists(held));
        try (FSDataOutputStream out = files.append(file)) {
            out.writeBytes(" and more");
        }
        assertEquals("text and more", read(plain, file));
        Path second = new Path(held, "second");
        write(files, second, "text");
        files.setTimes(second, 1_000_000, -1);
        assertEquals(1_000_000, plain.getFileStatus(second).getModificationTime());
        Path third = new Path(held, "third");
        write(files, third, "text");
        assertEquals(plain.getFileChecksum(second), files.getFileChecksum(third));
    }

    @Test
    void whatOtherProgramsDoOnHdfsCounts() throws Exception {
        Path held = path("/others/folder/temp");
        assertTrue(files.hold(held));
        write(files, new Path(held, "a"), "ours");
        write(files, new Path(held, "b"), "ours");
        write(plain, new Path(held, "a"), "theirs");
        assertEquals("theirs", read(files, new Path(held, "a")));
        assertEquals("ours", read(files, new Path(held, "b")));
        assertTrue(plain.rename(path("/others/folder"), path("/others/gone")));
        assertTrue(plain.mkdirs(path("/others/folder")));
        assertFalse(files.exists(held));
        assertThrows(FileNotFoundException.class, () -> files.open(new Path(held, "b")));
    }

    /** Their permissions are not checked in memory, so they see nothing before it is on HDFS. */
    @Test
    void otherUsersSeeHdfsAlone() throws Exception {
        Path held = path("/users/temp");
        assertTrue(files.hold(held));
        write(files, new Path(held, "a"), "ours");
        UserGroupInformation other = UserGroupInformation.createRemoteUser("somebody");
        try (FileSystem theirs =
                other.doAs((PrivilegedExceptionAction<FileSystem>) () -> FileSystem.newInstance(conf))) {
            assertFalse(theirs.exists(new Path(held, "a")));
            files.writeToDisk(held);
            assertTrue(theirs.exists(new Path(held, "a")));
        }
    }

    @Test
    void aFileThatIsNeverClosedIsNeverFoundAgain() throws Exception {
        Path file = path("/versions/open");
        try (FSDataOutputStream out = plain.create(file)) {
            out.writeBytes("text");
            out.hflush();
            assertNotEquals(FileVersion.of(plain, file), FileVersion.of(plain, file));
        }
        assertEquals(FileVersion.of(plain, file), FileVersion.of(files, file));
    }

    /** The file has the inode, the length and the time of before, and other bytes. */
    @Test
    void otherBytesInTheSameFileAreAnotherVersion() throws Exception {
        Path file = path("/versions/changed");
        write(plain, file, "one two\n");
        FileVersion before = FileVersion.of(plain, file);
        while (!plain.truncate(file, 4) && plain.getFileStatus(file).getLen() != 4) {
            Thread.sleep(20);
        }
        while (!plain.isFileClosed(file)) {
            Thread.sleep(20);
        }
        try (FSDataOutputStream out = plain.append(file)) {
            out.writeBytes("ten\n");
        }
        plain.setTimes(file, before.modified(), -1);
        FileVersion after = FileVersion.of(plain, file);
        assertEquals("one ten\n", read(plain, file));
        assertEquals(before.length(), after.length());
        assertEquals(before.modified(), after.modified());
        assertNotEquals(before.identity(), after.identity());
        assertFalse(before.sameContents(after));
    }

    @Test
    void aFolderOfHdfsHasNoPairs() throws Exception {
        plain.mkdirs(path("/versions/folder"));
        assertThrows(FileNotFoundException.class, () -> FileVersion.of(files, path("/versions/folder")));
        write(plain, path("/versions/never-read"), "text");
        assertNull(files.getCacheRecordReader(path("/versions/never-read")));
    }

    /** Writes a file that does something while it is written to HDFS. */
    private static void writeWith(Path file, Runnable act) throws IOException {
        SequencePairsWriter writer = files.createPairs(
                file, new SequencePairsWriter.Types(Text.class, Meanwhile.class, true, new KnownSize(), 1, conf));
        writer.add(new Text("key"), new Meanwhile());
        writer.close();
        Meanwhile.does(act);
    }

    @Test
    void aFolderIsRenamedWhileAFileOfItGoesToHdfs() throws Exception {
        plain.mkdirs(path("/moved"));
        assertTrue(files.hold(path("/moved/temp")));
        Path file = path("/moved/temp/from/file");
        Path moved = path("/moved/temp/to/file");
        writeWith(
                file,
                () -> assertDoesNotThrow(() -> {
                    assertTrue(files.rename(file.getParent(), moved.getParent()));
                    assertEquals(1, files.listStatus(moved.getParent()).length);
                }));
        long length = files.getFileStatus(file).getLen();
        files.held().writeToDisk(file);
        assertFalse(plain.exists(file.getParent()));
        assertEquals(1, plain.listStatus(moved.getParent()).length);
        assertEquals(length, plain.getFileStatus(moved).getLen());
        files.delete(path("/moved/temp"), true);
    }

    @Test
    void aFolderIsDeletedWhileAFileOfItGoesToHdfs() throws Exception {
        plain.mkdirs(path("/deleted"));
        assertTrue(files.hold(path("/deleted/temp")));
        Path file = path("/deleted/temp/folder/file");
        writeWith(file, () -> assertDoesNotThrow(() -> files.delete(file.getParent(), true)));
        files.held().writeToDisk(file);
        assertFalse(files.exists(file.getParent()));
        files.delete(path("/deleted/temp"), true);
    }
}
