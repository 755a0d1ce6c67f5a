package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.CacheCounter;

/** Jobs over HDFS: their output is the local runner's, and their input is found in the cache while the file is unchanged. */
@Timeout(180)
class HdfsTest {
    @TempDir
    static java.nio.file.Path folder;

    private static MiniDFSCluster cluster;
    private static FileSystem files;

    @BeforeAll
    static void start() throws IOException {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.resolve("hdfs").toString());
        cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
        files = cluster.getFileSystem();
    }

    @AfterAll
    static void stop() {
        cluster.shutdown();
    }

    private static Configuration conf(Engines engine) {
        Configuration conf = engine.conf(folder.resolve("tmp"));
        conf.set("fs.defaultFS", files.getUri().toString());
        return conf;
    }

    private static void write(Path file, String text) throws IOException {
        try (FSDataOutputStream out = files.create(file, true)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static Job run(Engines engine, Path in, Path out) throws Exception {
        Job job = Jobs.wordCount(conf(engine), java.nio.file.Path.of("/unused"), java.nio.file.Path.of("/unused"));
        job.setNumReduceTasks(2);
        FileInputFormat.setInputPaths(job, in);
        FileOutputFormat.setOutputPath(job, out);
        assertTrue(job.waitForCompletion(false));
        return job;
    }

    private static Map<String, String> read(Path out) throws IOException {
        Map<String, String> all = new TreeMap<>();
        for (FileStatus each : files.listStatus(out)) {
            try (FSDataInputStream in = files.open(each.getPath())) {
                all.put(each.getPath().getName(), new String(in.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        return all;
    }

    private static long found(Job job) throws IOException {
        return job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue();
    }

    @Test
    void writesWhatTheLocalRunnerWrites() throws Exception {
        Path in = files.makeQualified(new Path("/same/in.txt"));
        write(in, "a b c\nb c d\n".repeat(1000));
        run(Engines.LOCAL, in, files.makeQualified(new Path("/same/local")));
        run(Engines.TEGULA, in, files.makeQualified(new Path("/same/ours")));
        assertEquals(read(new Path("/same/local")), read(new Path("/same/ours")));
        assertFalse(files.exists(new Path("/same/ours/_temporary")));
    }

    /** The second file has the length and the time of the first. */
    @Test
    void findsAnInputAgainAndNotAnotherOfItsName() throws Exception {
        Path in = files.makeQualified(new Path("/again/in.txt"));
        write(in, "one two\n");
        long time = files.getFileStatus(in).getModificationTime();
        assertEquals(0, found(run(Engines.TEGULA, in, files.makeQualified(new Path("/again/first")))));
        assertEquals(1, found(run(Engines.TEGULA, in, files.makeQualified(new Path("/again/second")))));
        write(in, "six ten\n");
        files.setTimes(in, time, -1);
        assertEquals(0, found(run(Engines.TEGULA, in, files.makeQualified(new Path("/again/third")))));
        assertTrue(read(new Path("/again/third")).toString().contains("ten\t1"));
    }

    /** A client with HDFS's own file system would not find them in memory: such an output is written like every other. */
    @Test
    void writesTemporaryOutputs() throws Exception {
        Path in = files.makeQualified(new Path("/temporary/in.txt"));
        write(in, "one two\n");
        run(Engines.TEGULA, in, files.makeQualified(new Path("/temporary/temp-counts")));
        assertEquals(3, read(new Path("/temporary/temp-counts")).size());
    }
}
