package org.tegula.hadoop.cache;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.ByteWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.MD5Hash;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.ShortWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.VIntWritable;
import org.apache.hadoop.io.VLongWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.util.ReflectionUtils;
import org.tegula.hadoop.combine.BytesIn;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.Ints;

/**
 * Decides whether objects are the same after they were written and read again. The order of a hash table may change, and a
 * program's sum in that order then differs. Each object is checked by a second round, except for the classes of Hadoop that
 * cannot change.
 */
final class RoundTrip {
    private static final Set<Class<?>> STEADY = Set.of(
            BooleanWritable.class,
            ByteWritable.class,
            BytesWritable.class,
            DoubleWritable.class,
            FloatWritable.class,
            IntWritable.class,
            LongWritable.class,
            MD5Hash.class,
            NullWritable.class,
            ShortWritable.class,
            Text.class,
            VIntWritable.class,
            VLongWritable.class);

    private final Configuration conf;
    private final Map<Class<?>, Writable> copies = new HashMap<>();
    private final BytesIn in = new BytesIn();
    private final Arena again = new Arena(1 << 10);

    /**
     * @param conf that new objects are given
     */
    RoundTrip(Configuration conf) {
        this.conf = conf;
    }

    /**
     * Throws if an object is not steady.
     *
     * @param bytes with its serialised form, from start to end
     */
    void check(Writable object, byte[] bytes, int start, int end) throws IOException {
        Class<?> type = object.getClass();
        if (STEADY.contains(type)) {
            return;
        }
        Writable copy = copies.computeIfAbsent(type, each -> (Writable) ReflectionUtils.newInstance(each, conf));
        in.reset(bytes, start, end - start);
        copy.readFields(in);
        again.truncate(0);
        copy.write(again);
        if (again.length() != end - start || !Ints.equal(again.bytes(), 0, bytes, start, end - start)) {
            throw new IOException(type.getName() + " is not read as it was written");
        }
    }
}
