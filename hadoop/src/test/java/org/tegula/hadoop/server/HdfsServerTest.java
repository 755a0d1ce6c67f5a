package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.client.ServerConnection;
import org.tegula.hadoop.files.CachedFileSystem;

/** A client of a server sees the outputs over HDFS that the server has in memory alone; HDFS has heard of none. */
@Timeout(300)
class HdfsServerTest {
    @TempDir
    java.nio.file.Path folder;

    private MiniDFSCluster cluster;
    private EngineServer server;
    private Configuration conf;
    private FileSystem plain;
    private FileSystem files;

    @BeforeEach
    void serve() throws IOException {
        Configuration hdfs = new Configuration();
        hdfs.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.resolve("hdfs").toString());
        cluster = new MiniDFSCluster.Builder(hdfs).numDataNodes(1).build();
        plain = FileSystem.newInstance(cluster.getURI(), new Configuration());
        Configuration site = Engines.TEGULA.conf(folder.resolve("server"));
        site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        server = new EngineServer(site, "127.0.0.1", 0);
        conf = Engines.TEGULA.conf(folder.resolve("client"));
        conf.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        conf.set(Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort());
        conf.set("fs.defaultFS", cluster.getURI().toString());
        conf.setClass("fs.hdfs.impl", CachedFileSystem.class, FileSystem.class);
        conf.set("fs.file.impl", "org.tegula.hadoop.files.CachedLocalFileSystem");
        conf.setBoolean("fs.file.impl.disable.cache", true);
        conf.setBoolean("fs.hdfs.impl.disable.cache", true);
        files = FileSystem.get(URI.create(conf.get("fs.defaultFS")), conf);
    }

    @AfterEach
    void close() throws IOException {
        files.close();
        server.close();
        CachedFileSystem.writeAllToDisk();
        FileSystem.closeAll();
        cluster.shutdown();
    }

    private Path path(String name) {
        return files.makeQualified(new Path(name));
    }

    private Job counting(Path in, Path out) throws IOException {
        Job job = Jobs.wordCount(conf, java.nio.file.Path.of("/unused"), java.nio.file.Path.of("/unused"));
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        FileInputFormat.setInputPaths(job, in);
        FileOutputFormat.setOutputPath(job, out);
        return job;
    }

    private Job printing(Path in, Path out) throws IOException {
        Job job = Job.getInstance(conf);
        job.setNumReduceTasks(0);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        FileInputFormat.setInputPaths(job, in);
        FileOutputFormat.setOutputPath(job, out);
        return job;
    }

    @Test
    void aClientsJobsPassAnOutputOnInTheServer() throws Exception {
        try (FSDataOutputStream out = plain.create(path("/in.txt"))) {
            out.writeBytes("one two two\n");
        }
        Path counts = path("/temp-counts");
        assertTrue(counting(path("/in.txt"), counts).waitForCompletion(false));
        assertFalse(plain.exists(counts));
        assertEquals(
                List.of("_SUCCESS", "part-r-00000"),
                Arrays.stream(files.listStatus(counts))
                        .map(each -> each.getPath().getName())
                        .sorted()
                        .toList());
        Job second = printing(counts, path("/text"));
        assertTrue(second.waitForCompletion(false));
        assertEquals(
                1, second.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        assertFalse(plain.exists(counts));
        try (FSDataInputStream in = plain.open(path("/text/part-m-00000"))) {
            assertEquals("one\t1\ntwo\t2\n", new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
        ServerProtocol calls = ServerConnection.open(conf, conf.get(Settings.SERVER_ADDRESS));
        assertTrue(Arrays.stream(calls.kept()).anyMatch(each -> each.path().equals(counts + "/part-r-00000")));
        assertTrue(files.rename(counts, path("/temp-moved")));
        assertFalse(files.exists(counts));
        try (FSDataInputStream in = files.open(path("/temp-moved/part-r-00000"))) {
            assertEquals('S', in.read());
        }
        assertTrue(plain.exists(path("/temp-moved/part-r-00000")));
        assertTrue(files.delete(path("/temp-moved"), true));
        assertFalse(plain.exists(path("/temp-moved")));
        calls.drop("");
        ServerConnection.close(calls);
    }
}
