package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.tegula.hadoop.cache.BlockCursor;
import org.tegula.hadoop.cache.PairBlock;
import org.tegula.hadoop.live.KnownSize;

/** Reads kept pairs, for the {@code mapred} interface. */
final class OldBlockReader implements RecordReader<Object, Object>, OwnedPairs {
    private final PairBlock block;
    private final JobConf conf;
    private final KnownSize known;
    private final BlockCursor cursor;
    private final long length;
    private Object key;
    private Object value;
    private long read;

    OldBlockReader(PairBlock block, InputSplit split, JobConf conf, KnownSize known) throws IOException {
        this.block = block;
        this.conf = conf;
        this.known = known;
        cursor = block.open(conf);
        length = split.getLength();
    }

    @Override
    public boolean next(Object key, Object value) throws IOException {
        if (!cursor.next()) {
            return false;
        }
        cursor.key((Writable) key);
        cursor.value((Writable) value);
        read++;
        return true;
    }

    @Override
    public boolean advance() throws IOException {
        if (!cursor.next()) {
            return false;
        }
        key = cursor.key(null);
        value = cursor.value(null);
        known.set(value, cursor.valueBytes(), cursor.valueRoom());
        read++;
        return true;
    }

    @Override
    public Object key() {
        return key;
    }

    @Override
    public Object value() {
        return value;
    }

    @Override
    public Object createKey() {
        return block.newKey(conf);
    }

    @Override
    public Object createValue() {
        return block.newValue(conf);
    }

    /** Returns the bytes of the split for the pairs so far, in proportion to their number. */
    @Override
    public long getPos() {
        return (long) (length * (double) block.fraction(read));
    }

    @Override
    public float getProgress() {
        return block.fraction(read);
    }

    @Override
    public void close() {}
}
