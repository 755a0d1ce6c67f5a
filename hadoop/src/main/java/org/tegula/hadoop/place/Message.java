package org.tegula.hadoop.place;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * A call or an answer of another JVM, as it is read. It is in memory as a whole, so a length in it that goes beyond its end is
 * refused before anything of that length is made. Each fault is an {@link IOException}.
 */
final class Message extends DataInputBuffer {
    /** All of a frame. */
    Message(byte[] bytes) {
        reset(bytes, bytes.length);
    }

    /** How many bytes are still to be read. */
    int left() {
        return getLength() - getPosition();
    }

    /** Reads how many things follow, each of so many bytes at least. */
    int count(int leastBytes) throws IOException {
        int count = readInt();
        if (count < 0 || (long) count * leastBytes > left()) {
            throw new EOFException("A message was damaged on its way: " + count + " things cannot follow in its "
                    + left() + " last bytes");
        }
        return count;
    }

    /** Reads so many bytes. */
    byte[] bytes(int length) throws IOException {
        if (length < 0 || length > left()) {
            throw new EOFException("A message was damaged on its way: " + length + " bytes cannot follow in its "
                    + left() + " last bytes");
        }
        byte[] bytes = new byte[length];
        readFully(bytes);
        return bytes;
    }

    /** Reads what {@link Text#writeString} has written. */
    String text() throws IOException {
        return Text.readString(this, left());
    }

    /** Reads the number of one of some things. */
    <T> T oneOf(T[] things) throws IOException {
        int number = readByte();
        return at(number, things);
    }

    static <T> T at(int number, T[] things) throws IOException {
        if (number < 0 || number >= things.length) {
            throw new IOException(
                    "A message was damaged on its way: there is no " + number + " among " + things.length + " kinds");
        }
        return things[number];
    }

    /** Reads the name of an attempt. */
    TaskAttemptID attempt() throws IOException {
        String name = readUTF();
        try {
            return TaskAttemptID.forName(name);
        } catch (IllegalArgumentException e) {
            throw new IOException("A message was damaged on its way: " + name + " is no attempt of a task", e);
        }
    }

    /** Returns a path of a name that was read. */
    static Path path(String name) throws IOException {
        try {
            return new Path(name);
        } catch (IllegalArgumentException e) {
            throw new IOException("A message was damaged on its way: \"" + name + "\" is no path", e);
        }
    }

    /** Returns the user of a name that was read. */
    static UserGroupInformation user(String name) throws IOException {
        try {
            return UserGroupInformation.createRemoteUser(name);
        } catch (RuntimeException e) { // of a principal without a rule, or without a name
            throw new IOException("A message was damaged on its way: \"" + name + "\" is no user", e);
        }
    }

    /** Reads where a split is written. */
    JobSplit.TaskSplitIndex split() throws IOException {
        return new JobSplit.TaskSplitIndex(text(), WritableUtils.readVLong(this));
    }

    /** Reads an object of Hadoop's. Its class takes each length in the message for true, but not all of its numbers fit. */
    <T extends Writable> T read(T into) throws IOException {
        try {
            into.readFields(this);
            return into;
        } catch (RuntimeException e) {
            throw new IOException(
                    "A message was damaged on its way: it has no "
                            + into.getClass().getSimpleName(),
                    e);
        }
    }
}
