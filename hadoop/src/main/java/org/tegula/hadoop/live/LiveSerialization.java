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
        Deserializer<Object> plain = factory.getDeserializer(wanted);
        return isKey ? new Keys(plain, conf.pair()) : new Values(plain, conf.pair(), conf.known());
    }

    /** Gives an object of its own for every pair. */
    private abstract static class Reader implements Deserializer<Object> {
        final Deserializer<Object> plain;
        final LivePair pair;
        DataInputStream in;

        /**
         * @param pair null if all pairs are in bytes
         */
        Reader(Deserializer<Object> plain, LivePair pair) {
            this.plain = plain;
            this.pair = pair;
        }

        @Override
        public void open(InputStream stream) throws IOException {
            in = stream instanceof DataInputStream data ? data : new DataInputStream(stream);
            plain.open(in);
        }

        @Override
        public void close() throws IOException {
            plain.close();
        }
    }

    private static final class Keys extends Reader {
        Keys(Deserializer<Object> plain, LivePair pair) {
            super(plain, pair);
        }

        @Override
        public Object deserialize(Object reused) throws IOException {
            Object key = pair == null ? null : pair.key();
            return key == null ? plain.deserialize(null) : key;
        }
    }

    private static final class Values extends Reader {
        private final KnownSize known;

        Values(Deserializer<Object> plain, LivePair pair, KnownSize known) {
            super(plain, pair);
            this.known = known;
        }

        @Override
        public Object deserialize(Object reused) throws IOException {
            if (pair == null || in.readByte() != LiveWriter.OBJECT) {
                return plain.deserialize(null);
            }
            LiveValues.Pair found = pair.of(in.readInt());
            known.set(found.value(), found.bytes(), found.kept());
            return found.value();
        }
    }
}
