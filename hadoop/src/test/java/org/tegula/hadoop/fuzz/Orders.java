package org.tegula.hadoop.fuzz;

import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;

/** Comparators that hold keys to be equal whose bytes differ, or turn the order round. */
@SuppressWarnings("rawtypes") // as WritableComparator is
public final class Orders {
    private Orders() {}

    /** Texts, whatever their case. */
    public static final class AnyCase extends WritableComparator {
        /** Made by Hadoop. */
        public AnyCase() {
            super(Text.class, true);
        }

        @Override
        public int compare(WritableComparable left, WritableComparable right) {
            return left.toString().compareToIgnoreCase(right.toString());
        }
    }

    /** Texts by their first letter, whatever its case. */
    public static final class FirstLetter extends WritableComparator {
        /** Made by Hadoop. */
        public FirstLetter() {
            super(Text.class, true);
        }

        @Override
        public int compare(WritableComparable left, WritableComparable right) {
            return left.toString()
                    .substring(0, 1)
                    .compareToIgnoreCase(right.toString().substring(0, 1));
        }
    }

    /** Numbers by their tens. */
    public static final class Tens extends WritableComparator {
        /** Made by Hadoop. */
        public Tens() {
            super(IntWritable.class, true);
        }

        @Override
        public int compare(WritableComparable left, WritableComparable right) {
            return Integer.compare(((IntWritable) left).get() / 10, ((IntWritable) right).get() / 10);
        }
    }

    /** Numbers, the largest first. */
    public static final class Falling extends WritableComparator {
        /** Made by Hadoop. */
        public Falling() {
            super(IntWritable.class, true);
        }

        @Override
        public int compare(WritableComparable left, WritableComparable right) {
            return Integer.compare(((IntWritable) right).get(), ((IntWritable) left).get());
        }
    }
}
