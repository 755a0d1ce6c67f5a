package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Mapper;
import org.apache.hadoop.mapred.OutputFormat;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.SequenceFileInputFormat;
import org.apache.hadoop.mapred.SequenceFileOutputFormat;
import org.apache.hadoop.mapred.TextOutputFormat;
import org.apache.hadoop.mapred.lib.IdentityMapper;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tegula.hadoop.api.ImmutableOutput;

/**
 * A reader of {@code mapred} may hand out values that refer to its buffer, as Hive's of columns does, whoever passes them on: to
 * a reduce, to a file, or to the next job.
 */
@Timeout(120)
class LentBuffersTest {
    private static final int RECORDS = 5;
    /** Values of this size go from map to reduce as objects. */
    private static final int VALUE_BYTES = 400;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "IDENTITY, 0, false",
        "IDENTITY, 1, false",
        "IDENTITY, 1, true",
        "PROMISING, 0, false",
        "PROMISING, 1, false",
        "PROMISING, 1, true"
    })
    void valuesThatReferToTheBufferOfTheirReaderStayAsTheyAre(Mapping mapping, int reduces, boolean kept)
            throws Exception {
        Files.writeString(folder.resolve("in"), "x\n");
        Map<String, String> right = run(Engines.LOCAL, mapping, reduces, kept);
        assertTrue(right.get("part-00000").startsWith("0\trecord0"), right.toString());
        assertEquals(right, run(Engines.TEGULA, mapping, reduces, kept));
    }

    /** Runs a job over the program's own format, that again, and a third over the second's output, whose own is returned. */
    private Map<String, String> run(Engines engine, Mapping mapping, int reduces, boolean kept) throws Exception {
        JobConf conf = new JobConf(engine.conf(folder.resolve("tmp")));
        conf.setNumMapTasks(1);
        conf.setNumReduceTasks(reduces);
        conf.setMapperClass(mapping.type);
        conf.setOutputKeyClass(LongWritable.class);
        conf.setOutputValueClass(Slice.class);
        if (kept) {
            conf.set(Settings.CACHE_FORMATS, Slices.class.getName());
        }
        String name = engine.name();
        run(conf, Slices.class, "in", SequenceFileOutputFormat.class, name + "-first");
        run(conf, Slices.class, "in", SequenceFileOutputFormat.class, name + "-pairs");
        run(conf, SequenceFileInputFormat.class, name + "-pairs", TextOutputFormat.class, name + "-text");
        return Trees.read(folder.resolve(name + "-text"));
    }

    @SuppressWarnings("rawtypes") // as Hadoop's classes of formats are
    private void run(
            JobConf conf, Class<? extends InputFormat> from, String in, Class<? extends OutputFormat> to, String out)
            throws IOException {
        JobConf job = new JobConf(conf);
        job.setInputFormat(from);
        job.setOutputFormat(to);
        FileInputFormat.setInputPaths(job, hadoop(in));
        FileOutputFormat.setOutputPath(job, hadoop(out));
        assertTrue(JobClient.runJob(job).isSuccessful());
    }

    private org.apache.hadoop.fs.Path hadoop(String name) {
        return new org.apache.hadoop.fs.Path(folder.resolve(name).toUri());
    }

    /** Mappers that pass pairs on, with a promise or without. */
    @SuppressWarnings("rawtypes") // as JobConf has it
    enum Mapping {
        IDENTITY(IdentityMapper.class),
        PROMISING(Promising.class);

        private final Class<? extends Mapper> type;

        Mapping(Class<? extends Mapper> type) {
            this.type = type;
        }
    }

    static class Promising extends IdentityMapper<LongWritable, Slice> implements ImmutableOutput {}

    /** Some bytes of a buffer. */
    public static class Slice implements Writable {
        private byte[] buffer = {};

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeInt(buffer.length);
            out.write(buffer);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            buffer = new byte[in.readInt()];
            in.readFully(buffer);
        }

        @Override
        public String toString() {
            return new String(buffer, StandardCharsets.ISO_8859_1);
        }
    }

    static class Slices extends FileInputFormat<LongWritable, Slice> {
        @Override
        protected boolean isSplitable(FileSystem files, org.apache.hadoop.fs.Path file) {
            return false;
        }

        @Override
        public RecordReader<LongWritable, Slice> getRecordReader(InputSplit split, JobConf conf, Reporter reporter) {
            return new Lender();
        }
    }

    /** Has one buffer for all records. */
    private static final class Lender implements RecordReader<LongWritable, Slice> {
        private final byte[] buffer = new byte[VALUE_BYTES];
        private int read;

        @Override
        public boolean next(LongWritable key, Slice value) {
            if (read == RECORDS) {
                return false;
            }
            Arrays.fill(buffer, (byte) '.');
            byte[] name = ("record" + read).getBytes(StandardCharsets.ISO_8859_1);
            System.arraycopy(name, 0, buffer, 0, name.length);
            key.set(read++);
            value.buffer = buffer;
            return true;
        }

        @Override
        public LongWritable createKey() {
            return new LongWritable();
        }

        @Override
        public Slice createValue() {
            return new Slice();
        }

        @Override
        public long getPos() {
            return read;
        }

        @Override
        public float getProgress() {
            return (float) read / RECORDS;
        }

        @Override
        public void close() {}
    }
}
