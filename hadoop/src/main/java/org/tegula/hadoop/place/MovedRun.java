package org.tegula.hadoop.place;

import java.io.IOException;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunCursor;

/**
 * The copy of a run of another place, with the partitions of this place alone. Its sizes are those of the run itself, so that
 * runs are merged in the same order wherever they were made.
 *
 * @param ref the facts of the run
 * @param copy what is here of it
 * @param places how many places there are
 */
record MovedRun(RunRef ref, Run copy, int places) implements Run {
    @Override
    public long bytes(int partition) {
        return ref.bytes()[partition];
    }

    @Override
    public long wholeBytes(int partition) {
        return ref.whole()[partition];
    }

    @Override
    public long records(int partition) {
        return ref.records()[partition];
    }

    @Override
    public RunCursor open(int partition) throws IOException {
        return copy.open(partition / places);
    }

    @Override
    public boolean onDisk() {
        return copy.onDisk();
    }

    @Override
    public void release() {
        copy.release();
    }
}
