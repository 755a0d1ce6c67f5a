package org.tegula.hadoop.collect;

import java.io.IOException;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.combine.PlainTypes;
import org.tegula.hadoop.memory.Arena;

/** The types of keys and values that a job announces; others are refused. */
final class PairTypes<K, V> {
    private final Class<K> keyType;
    private final Class<V> valueType;
    private final int partitions;
    private final SerializationFactory factory;

    @SuppressWarnings("unchecked")
    PairTypes(JobConf conf) {
        keyType = (Class<K>) conf.getMapOutputKeyClass();
        valueType = (Class<V>) conf.getMapOutputValueClass();
        partitions = conf.getNumReduceTasks();
        factory = new SerializationFactory(conf);
    }

    /** Refuses classes that the job did not announce, with Hadoop's message. */
    void check(K key, V value, int partition) throws IOException {
        if (key.getClass() != keyType) {
            throw new IOException("Type mismatch in key from map: expected " + keyType.getName() + ", received "
                    + key.getClass().getName());
        }
        if (value.getClass() != valueType) {
            throw new IOException("Type mismatch in value from map: expected " + valueType.getName() + ", received "
                    + value.getClass().getName());
        }
        if (partition < 0 || partition >= partitions) {
            throw new IOException("Illegal partition for " + key + " (" + partition + ")");
        }
    }

    Serializer<K> keysTo(Arena arena) throws IOException {
        return serializer(keyType, arena);
    }

    Serializer<V> valuesTo(Arena arena) throws IOException {
        return serializer(valueType, arena);
    }

    private <T> Serializer<T> serializer(Class<T> type, Arena arena) throws IOException {
        Serializer<T> plain = PlainTypes.serializer(type, factory.getSerialization(type), arena);
        if (plain != null) {
            return plain;
        }
        Serializer<T> configured = factory.getSerializer(type);
        configured.open(arena);
        return configured;
    }
}
