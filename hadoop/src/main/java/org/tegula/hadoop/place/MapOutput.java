package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.tegula.hadoop.run.Run;

/**
 * What one map task has left at its place. Its runs themselves are there alone.
 *
 * @param place the number of the place
 * @param attempt the name of the attempt that made it
 * @param refs the facts of its runs, in their order
 * @param runs the runs, at their place; null at all others
 */
public record MapOutput(int place, String attempt, List<RunRef> refs, List<Run> runs) {
    static MapOutput of(int place, String attempt, List<Run> runs, int partitions) {
        return new MapOutput(
                place,
                attempt,
                runs.stream().map(run -> RunRef.of(run, partitions)).toList(),
                runs);
    }

    /** Gives up the runs, if they are here. */
    public void release() {
        if (runs != null) {
            runs.forEach(Run::release);
        }
    }

    void write(DataOutput out) throws IOException {
        out.writeInt(place);
        out.writeUTF(attempt);
        out.writeInt(refs.size());
        for (RunRef ref : refs) {
            ref.write(out);
        }
    }

    static MapOutput read(Message in) throws IOException {
        int place = in.readInt();
        String attempt = in.readUTF();
        List<RunRef> refs = new ArrayList<>();
        for (int left = in.count(Integer.BYTES); left > 0; left--) {
            refs.add(RunRef.read(in));
        }
        return new MapOutput(place, attempt, refs, null);
    }
}
