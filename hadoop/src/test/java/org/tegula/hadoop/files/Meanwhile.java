package org.tegula.hadoop.files;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Writable;

/** A value that does something once, while it is written. */
public final class Meanwhile implements Writable {
    private static Runnable what = () -> {};

    /** Made by Hadoop. */
    public Meanwhile() {}

    /** Says what the value that is written next does. */
    static void does(Runnable act) {
        what = act;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        Runnable now = what;
        what = () -> {};
        now.run();
        out.writeInt(1);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        in.readInt();
    }
}
