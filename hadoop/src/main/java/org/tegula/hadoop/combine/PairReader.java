package org.tegula.hadoop.combine;

import java.io.IOException;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.util.Progressable;

/**
 * The pairs of groups as objects, which are reused from pair to pair, as combiners of Hadoop expect. Where keys of a group
 * differ, the key goes along with the values under {@code mapreduce}, and stays the first one under {@code mapred}.
 */
final class PairReader<K, V> {
    private final Groups groups;
    private final boolean keysGoAlong;
    private final Counters.Counter pairs;
    private final Progressable alive;
    private final BytesIn buffer = new BytesIn();
    private final Deserializer<K> keys;
    private final Deserializer<V> values;
    private K key;
    private V value;
    private boolean first;
    private long count;

    @SuppressWarnings("unchecked")
    PairReader(
            Groups groups,
            boolean keysGoAlong,
            SerializationFactory factory,
            JobConf conf,
            Counters.Counter pairs,
            Progressable alive)
            throws IOException {
        this.groups = groups;
        this.keysGoAlong = keysGoAlong;
        this.pairs = pairs;
        this.alive = alive;
        keys = deserializer(factory, (Class<K>) conf.getMapOutputKeyClass());
        values = deserializer(factory, (Class<V>) conf.getMapOutputValueClass());
    }

    private <T> Deserializer<T> deserializer(SerializationFactory factory, Class<T> type) throws IOException {
        Deserializer<T> plain = PlainTypes.deserializer(type, factory.getSerialization(type), buffer);
        if (plain != null) {
            return plain;
        }
        Deserializer<T> configured = factory.getDeserializer(type);
        configured.open(buffer);
        return configured;
    }

    boolean nextGroup() throws IOException {
        while (groups.nextPair()) {
            count++;
        }
        first = true;
        return groups.nextGroup();
    }

    boolean hasPair() {
        return groups.hasPair();
    }

    boolean nextPair() throws IOException {
        if (!groups.nextPair()) {
            return false;
        }
        count++;
        alive.progress();
        read();
        return true;
    }

    private void read() throws IOException {
        if (first || isKeyToFollow()) {
            readKey();
            first = false;
        }
        groups.value(buffer);
        value = values.deserialize(value);
    }

    /** Makes the key of the pair that is next known before its value is asked for. */
    void peekKey() throws IOException {
        long position = groups.position();
        groups.nextPair();
        readKey();
        groups.seek(position);
        first = isKeyToFollow();
    }

    private boolean isKeyToFollow() {
        return keysGoAlong && !groups.sameKeys();
    }

    private void readKey() throws IOException {
        groups.key(buffer);
        key = keys.deserialize(key);
    }

    long position() {
        return groups.position();
    }

    void seek(long position) {
        groups.seek(position);
    }

    K key() {
        return key;
    }

    V value() {
        return value;
    }

    /** Counts the pairs that were read. */
    void finish() {
        pairs.increment(count);
        count = 0;
    }
}
