package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.Counters;
import org.tegula.hadoop.task.AttemptHandle;

/**
 * How far an attempt of a place is.
 *
 * @param silentNanos how long it has given no sign of life
 * @param progress from 0 to 1
 * @param status the words of the program
 * @param counters all of them
 */
record AttemptFacts(long silentNanos, float progress, String status, Counters counters) {
    static AttemptFacts of(AttemptHandle attempt) {
        return new AttemptFacts(attempt.silentNanos(), attempt.lastProgress(), attempt.status(), attempt.counters());
    }

    void write(DataOutput out) throws IOException {
        out.writeLong(silentNanos);
        out.writeFloat(progress);
        Text.writeString(out, status);
        counters.write(out);
    }

    static AttemptFacts read(Message in) throws IOException {
        long silent = in.readLong();
        float progress = in.readFloat();
        String status = in.text();
        return new AttemptFacts(silent, progress, status, in.read(new Counters()));
    }
}
