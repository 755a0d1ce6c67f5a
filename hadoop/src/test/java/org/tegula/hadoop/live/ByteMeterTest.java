package org.tegula.hadoop.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UTFDataFormatException;
import java.util.List;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.VLongWritable;
import org.apache.hadoop.io.Writable;
import org.junit.jupiter.api.Test;

/** An object's size is the number of bytes that a stream would get of it. */
class ByteMeterTest {
    private interface Writing {
        void write(DataOutput out) throws IOException;
    }

    private record Act(Writing writing) implements Writable {
        @Override
        public void write(DataOutput out) throws IOException {
            writing.write(out);
        }

        @Override
        public void readFields(DataInput in) {
            throw new UnsupportedOperationException();
        }
    }

    private static final List<Writing> ALL = List.of(
            out -> {},
            out -> out.write(300),
            out -> out.write(new byte[7]),
            out -> out.write(new byte[7], 2, 3),
            out -> out.writeBoolean(true),
            out -> out.writeByte(3),
            out -> out.writeShort(3),
            out -> out.writeChar('x'),
            out -> out.writeInt(3),
            out -> out.writeLong(3),
            out -> out.writeFloat(3),
            out -> out.writeDouble(3),
            out -> out.writeBytes("aé€"),
            out -> out.writeChars("aé€"),
            out -> out.writeUTF("a\0é\u07ff\u0800€\ud83d\ude00"),
            new Text("aé€")::write,
            new VLongWritable(1 << 20)::write);

    @Test
    void countsWhatAStreamWouldGet() throws IOException {
        for (int i = 0; i < ALL.size(); i++) {
            DataOutputStream stream = new DataOutputStream(OutputStream.nullOutputStream());
            ALL.get(i).write(stream);
            assertEquals(stream.size(), ByteMeter.of(new Act(ALL.get(i))), "number " + i);
        }
    }

    @Test
    void refusesWhatAStreamWouldRefuse() {
        assertThrows(
                UTFDataFormatException.class, () -> ByteMeter.of(new Act(out -> out.writeUTF("x".repeat(1 << 16)))));
        assertThrows(IndexOutOfBoundsException.class, () -> ByteMeter.of(new Act(out -> out.write(new byte[3], 2, 2))));
    }
}
