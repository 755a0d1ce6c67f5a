package org.tegula.hadoop.live;

import org.apache.hadoop.io.DataInputBuffer;
import org.tegula.hadoop.memory.Ints;

/**
 * The pair that a reduce is at, if it came as objects. The number is in the record of the value, but Hadoop reads the key
 * first: so whoever goes from record to record shows the value's bytes.
 */
public final class LivePair {
    private final LiveValues values;
    private LiveValues.Pair pair;
    private int number;

    /**
     * Before the first record.
     *
     * @param values of the job
     */
    public LivePair(LiveValues values) {
        this.values = values;
    }

    /**
     * Goes to a record.
     *
     * @param value the bytes of its value
     */
    public void moveTo(DataInputBuffer value) {
        int start = value.getPosition();
        if (value.getData()[start] == LiveWriter.OBJECT) {
            number = Ints.get(value.getData(), start + 1);
            pair = values.get(number);
        } else {
            pair = null;
        }
    }

    /** The key of the present record; null if it is in bytes. */
    Object key() {
        return pair == null ? null : pair.key();
    }

    /** The pair of a number, which need not be the present one: values may be read again. */
    LiveValues.Pair of(int wanted) {
        return pair != null && wanted == number ? pair : values.get(wanted);
    }
}
