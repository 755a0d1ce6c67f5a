package org.tegula.hadoop.live;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.Serialization;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.JobConf;

/** Reads keys and values of a reduce, each as an object that nobody else changes. Hadoop makes it, for a {@link LiveConf}. */
public final class LiveSerialization extends Configured implements Serialization<Object> {
    /** Made by Hadoop. */
    public LiveSerialization() {}

    @Override
    public boolean accept(Class<?> type) {
        return type == LiveConf.Key.class || type == LiveConf.Value.class;
    }

    @Override
    public Serializer<Object> getSerializer(Class<Object> type) {
        throw new UnsupportedOperationException("Reduces only read");
    }

    @Override
    @SuppressWarnings({"unchecked", "rawtypes"}) // types of keys and values are known to the program alone
    public Deserializer<Object> getDeserializer(Class<Object> type) {
        LiveConf conf = (LiveConf) getConf();
        JobConf real = conf.real();
        SerializationFactory factory = new SerializationFactory(real);
        boolean isKey = (Class) type == LiveConf.Key.class;
        Class wanted = isKey ? real.getMapOutputKeyClass() : real.getMapOutputValueClass();
        return new Reader(factory.getDeserializer(wanted), isKey ? null : conf.values(), conf.known());
    }

    private static final class Reader implements Deserializer<Object> {
        private final Deserializer<Object> plain;
        private final LiveValues values;
        private final KnownSize known;
        private DataInputStream in;

        Reader(Deserializer<Object> plain, LiveValues values, KnownSize known) {
            this.plain = plain;
            this.values = values;
            this.known = known;
        }

        @Override
        public void open(InputStream stream) throws IOException {
            in = stream instanceof DataInputStream data ? data : new DataInputStream(stream);
            plain.open(in);
        }

        @Override
        public Object deserialize(Object reused) throws IOException {
            if (values == null || in.readByte() != LiveWriter.OBJECT) {
                return plain.deserialize(null);
            }
            LiveValues.Value value = values.get(in.readInt());
            known.set(value.object(), value.bytes());
            return value.object();
        }

        @Override
        public void close() throws IOException {
            plain.close();
        }
    }
}
