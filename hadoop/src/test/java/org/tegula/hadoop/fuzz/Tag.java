package org.tegula.hadoop.fuzz;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.WritableComparable;

/** A program's own key, whose order looks at one part only: the name, whatever its case. */
public final class Tag implements WritableComparable<Tag> {
    private int number;
    private String name = "";

    /** Made by Hadoop. */
    public Tag() {}

    Tag(int number, String name) {
        this.number = number;
        this.name = name;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.writeInt(number);
        out.writeUTF(name);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        number = in.readInt();
        name = in.readUTF();
    }

    @Override
    public int compareTo(Tag other) {
        return name.compareToIgnoreCase(other.name);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Tag tag && compareTo(tag) == 0;
    }

    @Override
    public int hashCode() {
        return name.toLowerCase().hashCode();
    }

    @Override
    public String toString() {
        return number + name;
    }
}
