package org.tegula.hadoop.cache;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.util.ReflectionUtils;

/** All pairs of one part of a file, decoded. */
public abstract class PairBlock {
    private final String keyType;
    private final String valueType;
    private final String keyOrigin;
    private final String valueOrigin;
    private final long pairs;

    PairBlock(Class<?> keyType, Class<?> valueType, long pairs) {
        this.keyType = keyType.getName();
        this.valueType = valueType.getName();
        this.keyOrigin = ClassOrigin.of(keyType);
        this.valueOrigin = ClassOrigin.of(valueType);
        this.pairs = pairs;
    }

    /** Some pairs of another block. */
    PairBlock(PairBlock whole, long pairs) {
        this.keyType = whole.keyType;
        this.valueType = whole.valueType;
        this.keyOrigin = whole.keyOrigin;
        this.valueOrigin = whole.valueOrigin;
        this.pairs = pairs;
    }

    /**
     * How many pairs there are.
     *
     * @return their number
     */
    public final long pairs() {
        return pairs;
    }

    /**
     * How much of the block is done.
     *
     * @param read how many pairs
     * @return from 0 to 1
     */
    public final float fraction(long read) {
        return pairs == 0 ? 1 : (float) read / pairs;
    }

    final String keyType() {
        return keyType;
    }

    final String valueType() {
        return valueType;
    }

    /** The room that it takes: none if it is a part of something larger. */
    abstract long heldBytes();

    /** Gives its room back; open cursors may go on. */
    abstract void release();

    /** Whether a job has the classes that the block needs, of the same code. */
    final boolean isReadableWith(Configuration conf) {
        Class<?> keys = conf.getClassByNameOrNull(keyType);
        Class<?> values = conf.getClassByNameOrNull(valueType);
        return keys != null
                && values != null
                && ClassOrigin.of(keys).equals(keyOrigin)
                && ClassOrigin.of(values).equals(valueOrigin)
                && fits(keys, values);
    }

    /** Whether classes are those of keys and values. */
    abstract boolean fits(Class<?> keys, Class<?> values);

    /**
     * A new object for keys.
     *
     * @param conf that knows the class
     * @return an empty key
     */
    public final Writable newKey(Configuration conf) {
        return newWritable(keyType, conf);
    }

    /**
     * A new object for values.
     *
     * @param conf that knows the class
     * @return an empty value
     */
    public final Writable newValue(Configuration conf) {
        return newWritable(valueType, conf);
    }

    private static Writable newWritable(String name, Configuration conf) {
        return (Writable) ReflectionUtils.newInstance(conf.getClassByNameOrNull(name), conf);
    }

    /**
     * Starts to read.
     *
     * @param conf that knows the classes
     * @return a cursor before the first pair
     */
    public abstract BlockCursor open(Configuration conf);
}
