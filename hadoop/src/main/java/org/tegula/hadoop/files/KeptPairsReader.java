package org.tegula.hadoop.files;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.tegula.hadoop.cache.BlockCursor;
import org.tegula.hadoop.cache.PairBlock;

/** Reads some blocks one after the other; every pair has objects of its own. */
final class KeptPairsReader extends RecordReader<Writable, Writable> {
    private final Configuration conf;
    private final Iterator<PairBlock> blocks;
    private final long pairs;
    private PairBlock block;
    private BlockCursor cursor;
    private Writable key;
    private Writable value;
    private long read;

    KeptPairsReader(List<PairBlock> blocks, Configuration conf) {
        this.conf = conf;
        this.blocks = blocks.iterator();
        this.pairs = blocks.stream().mapToLong(PairBlock::pairs).sum();
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) {}

    @Override
    public boolean nextKeyValue() throws IOException {
        while (cursor == null || !cursor.next()) {
            if (!blocks.hasNext()) {
                return false;
            }
            block = blocks.next();
            cursor = block.open(conf);
        }
        key = cursor.key(block.newKey(conf));
        value = cursor.value(block.newValue(conf));
        read++;
        return true;
    }

    @Override
    public Writable getCurrentKey() {
        return key;
    }

    @Override
    public Writable getCurrentValue() {
        return value;
    }

    @Override
    public float getProgress() {
        return (float) read / pairs;
    }

    @Override
    public void close() {}
}
