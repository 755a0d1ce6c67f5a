package org.tegula.hadoop.place;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * What one place asks another for: the pairs of a map, or the bytes of a file in memory.
 *
 * @param job its name; {@link #HELD_FILE} for a file
 * @param attempt the name of the map's attempt, or of the file
 * @param partitions that are reduced at the place that asks
 * @param objects whether that place takes objects
 */
record DataRequest(String job, String attempt, int[] partitions, boolean objects) {
    static final String HELD_FILE = "";

    /** As many are made at once; more as more come. */
    private static final int PARTITIONS = 1 << 10;

    static DataRequest ofFile(String id) {
        return new DataRequest(HELD_FILE, id, new int[0], false);
    }

    boolean isOfFile() {
        return job.equals(HELD_FILE);
    }

    void write(DataOutput out) throws IOException {
        out.writeUTF(job);
        out.writeUTF(attempt);
        out.writeInt(partitions.length);
        for (int each : partitions) {
            out.writeInt(each);
        }
        out.writeBoolean(objects);
    }

    static DataRequest read(DataInput in) throws IOException {
        String job = in.readUTF();
        String attempt = in.readUTF();
        int count = in.readInt();
        if (count < 0) {
            throw new IOException("A request was damaged on its way: it is for " + count + " partitions");
        }
        int[] partitions = new int[Math.min(count, PARTITIONS)];
        for (int i = 0; i < count; i++) {
            if (i == partitions.length) {
                partitions = Arrays.copyOf(partitions, (int) Math.min(count, 2L * i));
            }
            partitions[i] = in.readInt();
        }
        return new DataRequest(job, attempt, partitions, in.readBoolean());
    }
}
