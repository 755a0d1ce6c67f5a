package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.CacheCounter;

/**
 * A Writable may change when it is written and read: one over a hash table, such as Mahout's sparse vectors, gets another order
 * each time, and a sum in that order differs in its last digits.
 */
@Timeout(120)
class CacheOfUnsteadyWritablesTest {
    @TempDir
    Path folder;

    private int jobs;

    @Test
    void everyJobSeesWhatIsInTheFile() throws Exception {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        String right = copy(Engines.LOCAL.conf(folder.resolve("tmp")), write(conf, new Unsteady(), 20), 0);
        assertEquals(right, copy(conf, folder.resolve("in.Unsteady"), 0));
        assertEquals(right, copy(conf, folder.resolve("in.Unsteady"), 0));
    }

    @Test
    void writablesThatComeBackAsTheyWereAreKept() throws Exception {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        String right = copy(conf, write(conf, new Steady(), 20), 0);
        assertEquals(right, copy(conf, folder.resolve("in.Steady"), 1));
    }

    private Path write(Configuration conf, Pair value, int count) throws IOException {
        Path file = folder.resolve("in." + value.getClass().getSimpleName());
        try (SequenceFile.Writer out = SequenceFile.createWriter(
                conf,
                SequenceFile.Writer.file(new org.apache.hadoop.fs.Path(file.toUri())),
                SequenceFile.Writer.keyClass(IntWritable.class),
                SequenceFile.Writer.valueClass(value.getClass()))) {
            for (int i = 0; i < count; i++) {
                value.left = i;
                value.right = -i;
                out.append(new IntWritable(i), value);
            }
        }
        return file;
    }

    /** Returns the pairs as text, by a job that finds that many splits in the cache. */
    private String copy(Configuration conf, Path in, long found) throws Exception {
        Path out = folder.resolve("out" + jobs++);
        Job job = Job.getInstance(conf);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setMapperClass(Mapper.class);
        job.setNumReduceTasks(0);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(in.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(out.toUri()));
        assertTrue(job.waitForCompletion(false));
        assertEquals(
                found, job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue());
        return Files.readString(out.resolve("part-m-00000"));
    }

    abstract static class Pair implements Writable {
        int left;
        int right;

        @Override
        public void readFields(DataInput in) throws IOException {
            left = in.readInt();
            right = in.readInt();
        }

        @Override
        public String toString() {
            return left + " " + right;
        }
    }

    static class Steady extends Pair {
        @Override
        public void write(DataOutput out) throws IOException {
            out.writeInt(left);
            out.writeInt(right);
        }
    }

    static class Unsteady extends Pair {
        @Override
        public void write(DataOutput out) throws IOException {
            out.writeInt(right);
            out.writeInt(left);
        }
    }
}
