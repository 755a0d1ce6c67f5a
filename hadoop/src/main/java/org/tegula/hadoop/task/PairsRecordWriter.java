package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.files.PairFiles;

/** In the place of {@code SequenceFileOutputFormat}'s own writers, of both interfaces: keeps the pairs of a file in memory. */
final class PairsRecordWriter extends RecordWriter<Object, Object>
        implements org.apache.hadoop.mapred.RecordWriter<Object, Object> {
    private final PairFiles files;
    private final SequencePairsWriter pairs;

    private PairsRecordWriter(PairFiles files, SequencePairsWriter pairs) {
        this.files = files;
        this.pairs = pairs;
    }

    /** Returns null if the format's own writer must write the file. */
    static PairsRecordWriter create(Path file, SequencePairsWriter.Types types) throws IOException {
        if (!(file.getFileSystem(types.conf()) instanceof PairFiles files)) {
            return null;
        }
        SequencePairsWriter pairs = files.createPairs(file, types);
        return pairs == null ? null : new PairsRecordWriter(files, pairs);
    }

    @Override
    public void write(Object key, Object value) throws IOException {
        pairs.add(key, value);
    }

    @Override
    public void close(TaskAttemptContext context) throws IOException {
        close();
    }

    @Override
    public void close(Reporter reporter) throws IOException {
        close();
    }

    private void close() throws IOException {
        files.countPairs(pairs.close());
    }
}
