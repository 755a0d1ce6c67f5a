package org.tegula.hadoop.combine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.ReduceContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskInputOutputContextImpl;
import org.tegula.hadoop.task.TaskReporter;

/** The context of a combiner of the {@code mapreduce} interface. A mark is a place in memory, because a group stays there. */
final class CombineContext<K, V> extends TaskInputOutputContextImpl<K, V, K, V> implements ReduceContext<K, V, K, V> {
    private static final long NO_MARK = Long.MIN_VALUE;

    private final PairReader<K, V> pairs;
    private final Values values = new Values();

    CombineContext(
            PairReader<K, V> pairs,
            JobConf conf,
            TaskAttemptID task,
            RecordWriter<K, V> out,
            OutputCommitter committer,
            TaskReporter reporter) {
        super(conf, task, out, committer, reporter);
        this.pairs = pairs;
    }

    @Override
    public boolean nextKey() throws IOException {
        if (!pairs.nextGroup()) {
            return false;
        }
        pairs.peekKey();
        values.mark = NO_MARK;
        return true;
    }

    @Override
    public boolean nextKeyValue() throws IOException {
        return pairs.nextPair() || nextKey() && pairs.nextPair();
    }

    @Override
    public K getCurrentKey() {
        return pairs.key();
    }

    @Override
    public V getCurrentValue() {
        return pairs.value();
    }

    @Override
    public Iterable<V> getValues() {
        return values;
    }

    private final class Values implements Iterable<V>, ReduceContext.ValueIterator<V> {
        private long mark = NO_MARK;

        @Override
        public Iterator<V> iterator() {
            return this;
        }

        @Override
        public boolean hasNext() {
            return pairs.hasPair();
        }

        @Override
        public V next() {
            try {
                if (!pairs.nextPair()) {
                    throw new NoSuchElementException("iterate past last value");
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return pairs.value();
        }

        @Override
        public void mark() {
            mark = pairs.position();
        }

        @Override
        public void reset() throws IOException {
            if (mark == NO_MARK) {
                throw new IOException("Reset called without a previous mark");
            }
            pairs.seek(mark);
        }

        @Override
        public void clearMark() {
            mark = NO_MARK;
        }

        @Override
        public void resetBackupStore() {
            mark = NO_MARK;
        }
    }
}
