package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.CacheCounter;
import org.tegula.hadoop.api.PlaceCounter;
import org.tegula.hadoop.files.CachedFileSystem;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/**
 * Temporary outputs over HDFS stay in the memory of the places that have made them. With {@code -Dplaces.faults=true}, because a
 * cluster and JVMs take long to start.
 */
@Timeout(300)
@EnabledIfSystemProperty(named = "places.faults", matches = "true")
class HdfsPlacesTest {
    private static final int PLACES = 2;
    private static final int PAIRS = 100;

    @TempDir
    java.nio.file.Path folder;

    private Configuration conf;

    private Job job(Path in, Path out) throws IOException {
        Job job = Job.getInstance(conf);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setMapperClass(JvmPlacesTest.Same.class);
        job.setPartitionerClass(JvmPlacesTest.Modulo.class);
        job.setReducerClass(Reducer.class);
        job.setNumReduceTasks(2 * PLACES);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(BytesWritable.class);
        FileInputFormat.setInputPaths(job, in);
        FileOutputFormat.setOutputPath(job, out);
        return job;
    }

    private static int read(FileSystem files, Path output) throws IOException {
        int pairs = 0;
        for (int part = 0; part < 2 * PLACES; part++) {
            Path file = files.makeQualified(new Path(output, "part-r-0000" + part));
            try (SequenceFile.Reader reader = new SequenceFile.Reader(
                    files.getConf(),
                    SequenceFile.Reader.stream(files.open(file)),
                    SequenceFile.Reader.length(files.getFileStatus(file).getLen()))) {
                IntWritable key = new IntWritable();
                BytesWritable value = new BytesWritable();
                for (; reader.next(key, value); pairs++) {
                    assertEquals(part, key.get() % (2 * PLACES));
                    assertEquals((byte) key.get(), value.getBytes()[0]);
                }
            }
        }
        return pairs;
    }

    @Test
    void temporaryOutputsStayAtTheirPlaces() throws Exception {
        Configuration hdfs = new Configuration();
        hdfs.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.resolve("hdfs").toString());
        MiniDFSCluster cluster =
                new MiniDFSCluster.Builder(hdfs).numDataNodes(1).build();
        String root = cluster.getURI().toString();
        try (PlaceServer server = new PlaceServer(folder, PLACES, Map.of("fs.defaultFS", root));
                FileSystem plain = FileSystem.newInstance(cluster.getURI(), new Configuration())) {
            conf = server.conf(folder.resolve("client"));
            conf.set("fs.defaultFS", root);
            conf.setClass("fs.file.impl", CachedLocalFileSystem.class, FileSystem.class); // as the script has it
            conf.setClass("fs.hdfs.impl", CachedFileSystem.class, FileSystem.class);
            conf.setBoolean("fs.hdfs.impl.disable.cache", true);
            conf.setBoolean("fs.file.impl.disable.cache", true);
            try (FSDataOutputStream out = plain.create(new Path("/in/pairs"));
                    SequenceFile.Writer writer = SequenceFile.createWriter(
                            conf,
                            SequenceFile.Writer.stream(out),
                            SequenceFile.Writer.keyClass(IntWritable.class),
                            SequenceFile.Writer.valueClass(BytesWritable.class))) {
                for (int i = 0; i < PAIRS; i++) {
                    writer.append(new IntWritable(i), new BytesWritable(new byte[] {(byte) i}));
                }
            }
            jobsPassPairsOn(plain);
        } finally {
            CachedFileSystem.writeAllToDisk();
            FileSystem.closeAll();
            cluster.shutdown();
        }
    }

    private void jobsPassPairsOn(FileSystem plain) throws Exception {
        assertTrue(job(new Path("/in"), new Path("/temp-one")).waitForCompletion(false));
        assertFalse(plain.exists(new Path("/temp-one")));
        Job second = job(new Path("/temp-one"), new Path("/temp-two"));
        assertTrue(second.waitForCompletion(false));
        assertEquals(2 * PLACES, value(second, CacheCounter.SPLITS_FOUND));
        assertEquals(0, value(second, PlaceCounter.PAIRS_MOVED));
        assertTrue(job(new Path("/temp-two"), new Path("/kept")).waitForCompletion(false));
        assertFalse(plain.exists(new Path("/temp-two")));
        assertEquals(PAIRS, read(plain, new Path("/kept")));
        try (FileSystem client = FileSystem.newInstance(conf)) {
            assertEquals(
                    List.of("_SUCCESS", "part-r-00000", "part-r-00001", "part-r-00002", "part-r-00003"),
                    Arrays.stream(client.listStatus(new Path("/temp-two")))
                            .map(each -> each.getPath().getName())
                            .sorted()
                            .toList());
            assertTrue(client.rename(new Path("/temp-two"), new Path("/moved")));
            assertEquals(PAIRS, read(client, new Path("/moved")));
            assertTrue(plain.exists(new Path("/moved/part-r-00000")));
            assertTrue(client.delete(new Path("/temp-one"), true));
            assertFalse(client.exists(new Path("/temp-one")));
        }
    }

    private static long value(Job job, Enum<?> counter) throws IOException {
        return job.getCounters().findCounter(counter).getValue();
    }
}
