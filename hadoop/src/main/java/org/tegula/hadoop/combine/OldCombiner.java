package org.tegula.hadoop.combine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Reducer;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.task.TaskReporter;

/** A combiner of the {@code mapred} interface. */
final class OldCombiner<K, V> extends Combiner<K, V> {
    OldCombiner(JobConf conf, TaskReporter reporter) {
        super(conf, reporter);
    }

    @Override
    boolean keysGoAlong() {
        return false;
    }

    @Override
    @SuppressWarnings("unchecked")
    void run(PairReader<K, V> pairs, PairSink<K, V> sink) throws IOException {
        Reducer<K, V, K, V> combiner = (Reducer<K, V, K, V>) ReflectionUtils.newInstance(conf.getCombinerClass(), conf);
        Values values = new Values(pairs);
        try {
            while (pairs.nextGroup()) {
                pairs.peekKey();
                combiner.reduce(pairs.key(), values, sink::accept, reporter);
            }
        } finally {
            combiner.close();
        }
    }

    private final class Values implements Iterator<V> {
        private final PairReader<K, V> pairs;

        Values(PairReader<K, V> pairs) {
            this.pairs = pairs;
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
    }
}
