package org.tegula.hadoop.fuzz;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;

/** A program's own key that has registered its comparator, which reads keys into objects of its own. */
public final class Word implements WritableComparable<Word> {
    private String text = "";

    static {
        WritableComparator.define(Word.class, new ByLength());
    }

    /** Made by Hadoop. */
    public Word() {}

    Word(String text) {
        this.text = text;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.writeUTF(text);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        text = in.readUTF();
    }

    @Override
    public int compareTo(Word other) {
        return text.compareTo(other.text);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Word word && text.equals(word.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }

    /** Short words come first. */
    private static final class ByLength extends WritableComparator {
        private ByLength() {
            super(Word.class, true);
        }

        @Override
        @SuppressWarnings({"rawtypes", "unchecked"}) // as WritableComparator is
        public int compare(WritableComparable left, WritableComparable right) {
            int lengths = Integer.compare(((Word) left).text.length(), ((Word) right).text.length());
            return lengths != 0 ? lengths : left.compareTo(right);
        }
    }
}
