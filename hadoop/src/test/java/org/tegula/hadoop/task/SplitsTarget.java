package org.tegula.hadoop.task;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** The file of input splits that a client has written. */
public final class SplitsTarget implements Target {
    private static final String SERIALIZATIONS = "io.serializations";

    private final JobConf conf = new JobConf(false);

    /** For Hadoop's Writables. */
    public SplitsTarget() {
        conf.set(SERIALIZATIONS, new Configuration().get(SERIALIZATIONS));
    }

    @Override
    public boolean believesLengths() {
        return true;
    }

    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        long at = (byte) input.choice();
        byte[] contents = input.rest();
        long[] length = new long[1];
        Object split = read(contents, at, length);
        assertEquals(split.getClass().getName(), file(contents).className(index(at), conf));
        if (split instanceof FileSplit file) { // Hadoop's paths become shorter when they are read again
            FileSplit again = (FileSplit) read(written(file), 0, length);
            assertEquals(file.getStart(), again.getStart());
            assertEquals(file.getLength(), again.getLength());
        }
    }

    private Object read(byte[] contents, long at, long[] length) throws IOException {
        return file(contents).read(index(at), conf, read -> length[0] = read);
    }

    private static JobSplit.TaskSplitIndex index(long at) {
        return new JobSplit.TaskSplitIndex("job.split", at);
    }

    private static SplitFile file(byte[] contents) {
        return new SplitFile(new Path("job.split"), contents);
    }

    private static byte[] written(Writable split) throws IOException {
        DataOutputBuffer out = new DataOutputBuffer();
        Text.writeString(out, split.getClass().getName());
        split.write(out);
        return Arrays.copyOf(out.getData(), out.getLength());
    }
}
