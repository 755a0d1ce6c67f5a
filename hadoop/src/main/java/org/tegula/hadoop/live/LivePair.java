package org.tegula.hadoop.live;

import java.io.IOException;
import org.apache.hadoop.io.DataInputBuffer;
import org.tegula.hadoop.memory.Ints;

/**
 * The present pair of a reduce, if it came as objects. The number is in the record of the value, but Hadoop reads the key
 * first. So the iterator shows the value's bytes at each record.
 */
public final class LivePair {
    /** The number of no pair. */
    static final int NONE = -1;

    private final LiveValues values;
    private LiveValues.Pair pair;
    private int number;
    private int numberRead = NONE;
    private int lengthRead;

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
     * @throws IOException if the job's pairs are gone
     */
    public void moveTo(DataInputBuffer value) throws IOException {
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
    LiveValues.Pair read(int wanted) throws IOException {
        LiveValues.Pair found = pair != null && wanted == number ? pair : values.get(wanted);
        numberRead = wanted;
        lengthRead = found.bytes();
        return found;
    }

    /** Notes that the value that was read last was in bytes. */
    void readBytes() {
        numberRead = NONE;
    }

    /** Returns the number of the pair whose value was read last; {@link #NONE} if that was in bytes. */
    int numberRead() {
        return numberRead;
    }

    /** The size of that value. */
    int lengthRead() {
        return lengthRead;
    }
}
