package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.FileAlreadyExistsException;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.CacheFS;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** Outputs that only later jobs want never touch the disk, and all who ask Hadoop for them find them. */
@Timeout(120)
class TemporaryOutputsTest {
    @TempDir
    Path folder;

    private Configuration conf;
    private FileSystem files;
    private Path in;

    @BeforeEach
    void configure() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.setClass("fs.file.impl", CachedLocalFileSystem.class, FileSystem.class);
        conf.setBoolean("fs.file.impl.disable.cache", true);
        files = FileSystem.get(conf);
        in = Files.writeString(folder.resolve("in.txt"), "one two two\nthree three three\n");
    }

    @AfterEach
    void delete() throws IOException {
        files.delete(hadoop(folder), true);
    }

    private static org.apache.hadoop.fs.Path hadoop(Path path) {
        return new org.apache.hadoop.fs.Path(path.toUri());
    }

    private Job counting(Path out) throws IOException {
        Job job = Jobs.wordCount(conf, in, out);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        return job;
    }

    private String print(Path from, Path out, int found) throws Exception {
        Job job = Job.getInstance(conf);
        job.setNumReduceTasks(0);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        FileInputFormat.addInputPath(job, hadoop(from));
        FileOutputFormat.setOutputPath(job, hadoop(out));
        assertTrue(job.waitForCompletion(false));
        assertEquals(
                found, job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        return Files.readString(out.resolve("part-m-00000"));
    }

    @Test
    void keepsAnOutputOffTheDiskAndHandsItsPairsOn() throws Exception {
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertFalse(Files.exists(counts));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", print(counts, folder.resolve("text"), 1));
        assertEquals(List.of("_SUCCESS", "part-r-00000"), names(files, counts));
        assertFalse(Files.exists(counts));
    }

    @Test
    void isReadByWhoeverIsNoJob() throws Exception {
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        org.apache.hadoop.fs.Path part = new org.apache.hadoop.fs.Path(hadoop(counts), "part-r-00000");
        Text key = new Text();
        try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, SequenceFile.Reader.file(part))) {
            assertTrue(reader.next(key, new IntWritable()));
        }
        assertEquals("one", key.toString());
        Path copy = folder.resolve("copy");
        files.copyToLocalFile(false, part, hadoop(copy), true);
        try (FSDataInputStream opened = files.open(part)) {
            assertEquals(Files.size(copy), opened.readAllBytes().length);
        }
        assertFalse(Files.exists(counts));
        assertTrue(Files.exists(((CachedLocalFileSystem) files).pathToFile(part).toPath()));
    }

    @Test
    void showsAProgramWhatIsKept() throws Exception {
        Path counts = folder.resolve("counts");
        Path temporary = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(counting(temporary).waitForCompletion(false));
        CacheFS cached = (CacheFS) files;
        FileSystem raw = cached.getRawCache();
        assertEquals(List.of("counts", "in.txt", "temp-counts"), names(raw, folder));
        assertEquals(List.of("part-r-00000"), names(raw, counts));
        org.apache.hadoop.fs.Path part = new org.apache.hadoop.fs.Path(hadoop(counts), "part-r-00000");
        StringBuilder pairs = new StringBuilder();
        try (RecordReader<Writable, Writable> reader = cached.getCacheRecordReader(part)) {
            while (reader.nextKeyValue()) {
                pairs.append(reader.getCurrentKey()).append(' ').append(reader.getCurrentValue());
                pairs.append('\n');
            }
        }
        assertEquals("one 1\nthree 3\ntwo 2\n", pairs.toString());
        assertThrows(UnsupportedOperationException.class, () -> raw.rename(part, hadoop(in)));
        assertTrue(raw.delete(hadoop(counts), true));
        assertTrue(raw.delete(hadoop(temporary), true));
        assertNull(cached.getCacheRecordReader(part));
        assertTrue(files.exists(part));
        assertFalse(files.exists(hadoop(temporary)));
        assertEquals(List.of("in.txt"), names(raw, folder));
        assertThrows(FileNotFoundException.class, () -> raw.open(part));
    }

    private static List<String> names(FileSystem system, Path place) throws IOException {
        TreeSet<String> names = new TreeSet<>();
        for (FileStatus each : system.listStatus(hadoop(place))) {
            names.add(each.getPath().getName());
        }
        return List.copyOf(names);
    }

    @Test
    void isRefusedIfItIsThereAndGoesWhenItIsDeleted() throws Exception {
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertThrows(FileAlreadyExistsException.class, () -> counting(counts).waitForCompletion(false));
        assertTrue(files.delete(hadoop(counts), true));
        assertFalse(files.exists(hadoop(counts)));
        assertTrue(counting(counts).waitForCompletion(false));
    }

    @Test
    void keepsItsPairsUnderANewName() throws Exception {
        Path counts = folder.resolve("temp-counts");
        Path other = folder.resolve("kept");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(files.rename(hadoop(counts), hadoop(other)));
        assertFalse(files.exists(hadoop(counts)));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", print(other, folder.resolve("text"), 1));
        assertFalse(Files.exists(other));
    }

    @Test
    void isChosenByAPrefixOrAList() throws Exception {
        conf.set(Settings.TEMPORARY_PREFIX, Settings.TEMPORARY_PREFIX_NONE);
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(Files.exists(counts.resolve("part-r-00000")));
        conf.set(Settings.TEMPORARY_PATHS, "/nowhere," + folder.resolve("listed"));
        assertTrue(counting(folder.resolve("listed")).waitForCompletion(false));
        assertFalse(Files.exists(folder.resolve("listed")));
        conf.set(Settings.TEMPORARY_PREFIX, "scratch");
        assertTrue(counting(folder.resolve("scratch1")).waitForCompletion(false));
        assertFalse(Files.exists(folder.resolve("scratch1")));
    }

    @Test
    void staysOnTheDiskWhereOthersWouldNotFindItInMemory() throws Exception {
        conf.setClass("fs.file.impl", LocalFileSystem.class, FileSystem.class);
        Path counts = folder.resolve("temp-counts");
        assertTrue(counting(counts).waitForCompletion(false));
        assertTrue(Files.exists(counts.resolve("part-r-00000")));
    }

    @Test
    void leavesNothingOfAJobThatFails() throws Exception {
        conf.setInt("mapreduce.reduce.maxattempts", 1);
        Path counts = folder.resolve("temp-counts");
        Job job = counting(counts);
        job.setReducerClass(FaultsTest.BadReducer.class);
        assertFalse(job.waitForCompletion(false));
        assertEquals(0, files.listStatus(hadoop(counts)).length);
        assertFalse(Files.exists(counts));
    }
}
