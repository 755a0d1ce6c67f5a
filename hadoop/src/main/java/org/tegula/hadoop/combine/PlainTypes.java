package org.tegula.hadoop.combine;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.io.serializer.WritableSerialization;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;

/**
 * Hadoop's types that most pairs are of: their bytes are copied at once, and not one after the other through two layers of
 * streams, which took longer than to find the key. The bytes are those of their own methods. Only for exactly these
 * classes, and only where Hadoop's own serialization of them is configured.
 */
public final class PlainTypes {
    /** How objects of one class become bytes and come back. */
    private interface Plain<T> {
        void write(T object, Arena out);

        void read(T object, BytesIn in);
    }

    private record Known(Plain<?> plain, Supplier<?> made) {}

    private static final Map<Class<?>, Known> KNOWN = Map.of(
            Text.class, new Known(new PlainText(), Text::new),
            IntWritable.class, new Known(new PlainInt(), IntWritable::new),
            LongWritable.class, new Known(new PlainLong(), LongWritable::new));

    private PlainTypes() {}

    /**
     * Returns the serializer of a class.
     *
     * @param type the class
     * @param serialization that is configured for it
     * @param out where to
     * @param <T> the class
     * @return null if the class is not one of these
     */
    @SuppressWarnings("unchecked")
    public static <T> Serializer<T> serializer(Class<T> type, Object serialization, Arena out) {
        Known known = find(type, serialization);
        return known == null ? null : new ToArena<>((Plain<T>) known.plain, out);
    }

    /**
     * Returns the deserializer of a class.
     *
     * @param type the class
     * @param serialization that is configured for it
     * @param in where from
     * @param <T> the class
     * @return null if the class is not one of these
     */
    @SuppressWarnings("unchecked")
    public static <T> Deserializer<T> deserializer(Class<T> type, Object serialization, BytesIn in) {
        Known known = find(type, serialization);
        return known == null ? null : new FromBytes<>((Plain<T>) known.plain, (Supplier<T>) known.made, in);
    }

    private static Known find(Class<?> type, Object serialization) {
        return serialization != null && serialization.getClass() == WritableSerialization.class
                ? KNOWN.get(type)
                : null;
    }

    private static final class PlainText implements Plain<Text> {
        @Override
        public void write(Text text, Arena out) {
            out.putVInt(text.getLength());
            out.write(text.getBytes(), 0, text.getLength());
        }

        @Override
        public void read(Text text, BytesIn in) {
            int length = in.takeVInt();
            text.set(in.bytes(), in.take(length), length);
        }
    }

    private static final class PlainInt implements Plain<IntWritable> {
        @Override
        public void write(IntWritable number, Arena out) {
            out.setInt(out.skip(Integer.BYTES), number.get());
        }

        @Override
        public void read(IntWritable number, BytesIn in) {
            number.set(Ints.get(in.bytes(), in.take(Integer.BYTES)));
        }
    }

    private static final class PlainLong implements Plain<LongWritable> {
        @Override
        public void write(LongWritable number, Arena out) {
            int at = out.skip(Long.BYTES);
            out.setInt(at, (int) (number.get() >>> Integer.SIZE));
            out.setInt(at + Integer.BYTES, (int) number.get());
        }

        @Override
        public void read(LongWritable number, BytesIn in) {
            number.set(Ints.leading(in.bytes(), in.take(Long.BYTES), Long.BYTES));
        }
    }

    private record ToArena<T>(Plain<T> plain, Arena out) implements Serializer<T> {
        @Override
        public void open(OutputStream ignored) {}

        @Override
        public void serialize(T object) {
            plain.write(object, out);
        }

        @Override
        public void close() {}
    }

    private record FromBytes<T>(Plain<T> plain, Supplier<T> made, BytesIn in) implements Deserializer<T> {
        @Override
        public void open(InputStream ignored) {}

        @Override
        public T deserialize(T object) {
            T read = object == null ? made.get() : object;
            plain.read(read, in);
            return read;
        }

        @Override
        public void close() {}
    }
}
