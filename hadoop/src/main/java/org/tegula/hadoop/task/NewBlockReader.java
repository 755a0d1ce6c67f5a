package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.tegula.hadoop.cache.BlockCursor;
import org.tegula.hadoop.cache.PairBlock;
import org.tegula.hadoop.live.KnownSize;

/** Reads kept pairs, for the {@code mapreduce} interface. */
final class NewBlockReader extends RecordReader<Object, Object> {
    private final PairBlock block;
    private final BlockCursor cursor;
    private final boolean promised;
    private final KnownSize known;
    private Writable key;
    private Writable value;
    private long read;

    /**
     * @param promised whether the mapper changes no pair: then it gets the kept objects
     * @param known takes the sizes of their values
     */
    NewBlockReader(PairBlock block, JobConf conf, boolean promised, KnownSize known) {
        this.block = block;
        this.promised = promised;
        this.known = known;
        cursor = block.open(conf);
        key = block.newKey(conf);
        value = block.newValue(conf);
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) {}

    @Override
    public boolean nextKeyValue() throws IOException {
        if (!cursor.next()) {
            return false;
        }
        key = cursor.key(promised ? null : key);
        value = cursor.value(promised ? null : value);
        if (promised) {
            known.set(value, cursor.valueBytes(), cursor.valueRoom());
        }
        read++;
        return true;
    }

    @Override
    public Object getCurrentKey() {
        return key;
    }

    @Override
    public Object getCurrentValue() {
        return value;
    }

    @Override
    public float getProgress() {
        return block.fraction(read);
    }

    @Override
    public void close() {}
}
