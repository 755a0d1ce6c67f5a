package org.tegula.hadoop.live;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.run.KeyOrders;

/**
 * The key object of a reduce of the {@code mapreduce} interface that leaves pairs as they are. Where keys that differ
 * compare equal, Hadoop changes the object that it has handed to the reducer while the values are iterated, and programs
 * rely on it. So the object is one per group, it changes only if the next key of its group has other bytes, and who keeps
 * it gets a copy.
 *
 * <p>It is the grouping comparator of Hadoop's own context, which compares each key with the next one, and so knows which
 * of these cases comes.
 */
public final class GroupKey implements RawComparator<Object> {
    /** For keys of exactly these classes, these comparators find no two equal that have different bytes. */
    private static final Map<Class<?>, Class<?>> EXACT = Map.of(
            Text.class, Text.Comparator.class,
            BytesWritable.class, BytesWritable.Comparator.class,
            IntWritable.class, IntWritable.Comparator.class,
            LongWritable.class, LongWritable.Comparator.class,
            NullWritable.class, NullWritable.Comparator.class);

    private final ObjectCopier copier;
    private final RawComparator<Object> groups;
    private Next next = Next.OF_ANOTHER_GROUP;
    private Object key;
    private Object copy;

    /** The next key in terms of the present one. */
    private enum Next {
        OF_ANOTHER_GROUP,
        THE_SAME,
        ANOTHER_OF_THE_GROUP
    }

    private GroupKey(JobConf conf, RawComparator<Object> groups) {
        this.copier = new ObjectCopier(conf);
        this.groups = groups;
    }

    /**
     * The key of a reduce.
     *
     * @param conf of the task
     * @return null if all keys of a group have the same bytes, as far as is known
     */
    @SuppressWarnings("unchecked") // types of keys are known to the program alone
    public static GroupKey of(JobConf conf) {
        RawComparator<Object> groups = KeyOrders.groups(conf);
        return groups.getClass() == EXACT.get(conf.getMapOutputKeyClass()) ? null : new GroupKey(conf, groups);
    }

    @Override
    public int compare(byte[] left, int leftAt, int leftLength, byte[] right, int rightAt, int rightLength) {
        int order = groups.compare(left, leftAt, leftLength, right, rightAt, rightLength);
        if (order != 0) {
            next = Next.OF_ANOTHER_GROUP;
        } else {
            next = Arrays.equals(left, leftAt, leftAt + leftLength, right, rightAt, rightAt + rightLength)
                    ? Next.THE_SAME
                    : Next.ANOTHER_OF_THE_GROUP;
        }
        return order;
    }

    @Override
    public int compare(Object left, Object right) {
        return groups.compare(left, right);
    }

    /** Advances to the next key. */
    Object read(Deserializer<Object> bytes) throws IOException {
        if (next != Next.THE_SAME) {
            key = bytes.deserialize(next == Next.OF_ANOTHER_GROUP ? null : key);
            copy = null;
        }
        return key;
    }

    /**
     * Returns an object that stays as it was emitted.
     *
     * @param emitted any object
     * @return a copy, if it is the key, which may change yet; else the object itself
     * @throws IOException if the key cannot be copied
     */
    public Object kept(Object emitted) throws IOException {
        if (emitted != key || !(emitted instanceof Writable)) {
            return emitted;
        }
        if (copy == null) {
            copy = copier.copy(key);
        }
        return copy;
    }
}
