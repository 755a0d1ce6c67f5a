package org.tegula.hadoop.live;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;

/**
 * Copies objects as a task's own configuration has them written and read, for one thread at a time. Hadoop's own copies are
 * made as the first job of the JVM has asked for.
 */
public final class ObjectCopier {
    private final SerializationFactory factory;
    private final DataOutputBuffer written = new DataOutputBuffer();
    private final DataInputBuffer read = new DataInputBuffer();

    /**
     * A copier of one task.
     *
     * @param conf of the task; copies that take a configuration get this one
     */
    public ObjectCopier(Configuration conf) {
        factory = new SerializationFactory(conf);
    }

    /**
     * Whether an object can be copied.
     *
     * @param object any object, or null
     * @return false if the job has no serialization of its class
     */
    public boolean canCopy(Object object) {
        return object == null || factory.getSerialization(object.getClass()) != null;
    }

    /**
     * Copies an object.
     *
     * @param object any object, or null
     * @return one that shares nothing with it; null for null
     * @throws IOException if the object cannot be copied
     */
    @SuppressWarnings("unchecked") // the class of an object is that of its serializer
    public Object copy(Object object) throws IOException {
        if (object == null) {
            return null;
        }
        Class<Object> type = (Class<Object>) object.getClass();
        if (!canCopy(object)) {
            throw new IOException("None of io.serializations copies a " + type.getName()
                    + ", which is needed where a mapper or reducer promises ImmutableOutput");
        }
        written.reset();
        Serializer<Object> serializer = factory.getSerializer(type);
        serializer.open(written);
        serializer.serialize(object);
        read.reset(written.getData(), written.getLength());
        Deserializer<Object> deserializer = factory.getDeserializer(type);
        deserializer.open(read);
        return deserializer.deserialize(null);
    }
}
