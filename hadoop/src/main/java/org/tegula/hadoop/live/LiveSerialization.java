package org.tegula.hadoop.live;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.Serialization;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapred.JobConf;

/**
 * Reads keys and values of a reduce, each as an object that nobody else changes, except for a {@link GroupKey}. Hadoop makes
 * it, for a {@link LiveConf}.
 */
public final class LiveSerialization extends Configured implements Serialization<Object> {
    /** Made by Hadoop. */
    public LiveSerialization() {}

    @Override
    public boolean accept(Class<?> type) {
        return type == LiveConf.Key.class || type == LiveConf.Value.class;
    }

    /** For Hadoop's iterator of values, which writes the present record again where a program marks it. */
    @Override
    public Serializer<Object> getSerializer(Class<Object> type) {
        LiveConf conf = (LiveConf) getConf();
        Serializer<Object> plain = new SerializationFactory(conf.real()).getSerializer(real(type));
        return isKey(type) || conf.pair() == null ? plain : new Again(plain, conf.pair());
    }

    @Override
    public Deserializer<Object> getDeserializer(Class<Object> type) {
        LiveConf conf = (LiveConf) getConf();
        Deserializer<Object> plain = new SerializationFactory(conf.real()).getDeserializer(real(type));
        return isKey(type)
                ? new Keys(plain, conf.pair(), conf.groupKey())
                : new Values(plain, conf.pair(), conf.known());
    }

    private static boolean isKey(Class<?> type) {
        return type == LiveConf.Key.class;
    }

    @SuppressWarnings("unchecked") // types of keys and values are known to the program alone
    private Class<Object> real(Class<Object> type) {
        JobConf real = ((LiveConf) getConf()).real();
        return (Class<Object>) (isKey(type) ? real.getMapOutputKeyClass() : real.getMapOutputValueClass());
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
        private final GroupKey groupKey;

        Keys(Deserializer<Object> plain, LivePair pair, GroupKey groupKey) {
            super(plain, pair);
            this.groupKey = groupKey;
        }

        @Override
        public Object deserialize(Object reused) throws IOException {
            if (groupKey != null) {
                return groupKey.read(plain);
            }
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
            if (pair == null) {
                return plain.deserialize(null);
            }
            if (in.readByte() != LiveWriter.OBJECT) {
                pair.readBytes();
                return plain.deserialize(null);
            }
            LiveValues.Pair found = pair.read(in.readInt());
            known.set(found.value(), found.bytes(), found.kept());
            return found.value();
        }
    }

    /** Writes the record of the value that was read last, as it was. */
    private static final class Again implements Serializer<Object> {
        private final Serializer<Object> plain;
        private final LivePair pair;
        private DataOutputStream out;

        Again(Serializer<Object> plain, LivePair pair) {
            this.plain = plain;
            this.pair = pair;
        }

        @Override
        public void open(OutputStream stream) throws IOException {
            out = stream instanceof DataOutputStream data ? data : new DataOutputStream(stream);
            plain.open(out);
        }

        @Override
        public void serialize(Object value) throws IOException {
            if (pair.numberRead() == LivePair.NONE) {
                out.writeByte(LiveWriter.BYTES);
                plain.serialize(value);
            } else {
                out.writeByte(LiveWriter.OBJECT);
                out.writeInt(pair.numberRead());
                out.writeInt(pair.lengthRead());
            }
        }

        @Override
        public void close() throws IOException {
            plain.close();
        }
    }
}
