package org.tegula.hadoop.files;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.security.UserGroupInformation;
import org.tegula.hadoop.cache.BlockCursor;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairBlock;
import org.tegula.hadoop.cache.SequencePairs;

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

    /** The pairs of a file of a file system that is over held files; null unless all of them are kept. */
    static KeptPairsReader of(FileSystem files, HeldFiles held, Path file) throws IOException {
        Configuration conf = files.getConf();
        SequencePairs pairs = held.pairs(file);
        PairBlock all = pairs == null ? null : pairs.find(0, pairs.length(), conf);
        if (all != null) {
            return new KeptPairsReader(List.of(all), conf);
        }
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        List<PairBlock> blocks = held.cache().findAll(user, held.cacheName(file), FileVersion.of(files, file), conf);
        return blocks.isEmpty() ? null : new KeptPairsReader(blocks, conf);
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
