package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import org.tegula.hadoop.run.Run;

/**
 * The facts of a run that all places know: the order in which runs are merged follows from them.
 *
 * @param bytes the size of each partition
 * @param whole the size that each partition has on Hadoop
 * @param records how many each partition has
 */
record RunRef(long[] bytes, long[] whole, long[] records) {
    static RunRef of(Run run, int partitions) {
        RunRef ref = new RunRef(new long[partitions], new long[partitions], new long[partitions]);
        for (int i = 0; i < partitions; i++) {
            ref.bytes[i] = run.bytes(i);
            ref.whole[i] = run.wholeBytes(i);
            ref.records[i] = run.records(i);
        }
        return ref;
    }

    void write(DataOutput out) throws IOException {
        out.writeInt(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            out.writeLong(bytes[i]);
            out.writeLong(whole[i]);
            out.writeLong(records[i]);
        }
    }

    static RunRef read(Message in) throws IOException {
        int partitions = in.count(3 * Long.BYTES);
        RunRef ref = new RunRef(new long[partitions], new long[partitions], new long[partitions]);
        for (int i = 0; i < partitions; i++) {
            ref.bytes[i] = in.readLong();
            ref.whole[i] = in.readLong();
            ref.records[i] = in.readLong();
        }
        return ref;
    }
}
