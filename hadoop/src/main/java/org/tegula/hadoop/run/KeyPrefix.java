package org.tegula.hadoop.run;

import java.util.Map;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableUtils;
import org.tegula.hadoop.memory.Ints;

/**
 * The start of a serialised key as a number, for the comparators of Hadoop's own types: where the numbers of two keys
 * differ, unsigned, the comparator orders the keys the same way. All other comparators get the number 0 for every key,
 * and decide themselves.
 */
public enum KeyPrefix {
    /** For unknown comparators. */
    NONE {
        @Override
        public long of(byte[] bytes, int start, int length) {
            return 0;
        }
    },
    /** Bytes after a length of one to five bytes. */
    TEXT {
        @Override
        public long of(byte[] bytes, int start, int length) {
            int skip = WritableUtils.decodeVIntSize(bytes[start]);
            return Ints.leading(bytes, start + skip, length - skip);
        }
    },
    /** Bytes after a length of four bytes. */
    BYTES {
        @Override
        public long of(byte[] bytes, int start, int length) {
            return Ints.leading(bytes, start + 4, length - 4);
        }
    },
    /** A signed integer of four bytes, the highest first. The comparator ignores all other bytes of a key. */
    INT {
        @Override
        public long of(byte[] bytes, int start, int length) {
            return Ints.leading(bytes, start, Math.min(length, Integer.BYTES)) ^ Long.MIN_VALUE;
        }
    },
    /** A signed integer of eight bytes, the highest first. */
    LONG {
        @Override
        public long of(byte[] bytes, int start, int length) {
            return Ints.leading(bytes, start, length) ^ Long.MIN_VALUE;
        }
    };

    private static final Map<Class<?>, KeyPrefix> KNOWN = Map.of(
            Text.Comparator.class, TEXT,
            BytesWritable.Comparator.class, BYTES,
            IntWritable.Comparator.class, INT,
            LongWritable.Comparator.class, LONG,
            NullWritable.Comparator.class, NONE);

    /**
     * The start of a key.
     *
     * @param bytes where it is
     * @param start its first byte
     * @param length its length
     * @return a number that orders as the key does
     */
    public abstract long of(byte[] bytes, int start, int length);

    /**
     * The prefix that a comparator allows.
     *
     * @param comparator that sorts
     * @return how to make it
     */
    public static KeyPrefix of(RawComparator<?> comparator) {
        return KNOWN.getOrDefault(comparator.getClass(), NONE);
    }
}
