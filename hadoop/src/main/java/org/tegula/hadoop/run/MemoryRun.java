package org.tegula.hadoop.run;

import java.io.IOException;
import org.apache.hadoop.io.WritableUtils;
import org.tegula.hadoop.memory.MemoryBudget;

/** A run in one array, partition after partition. */
final class MemoryRun implements Run {
    private volatile byte[] bytes;
    private final int[] starts;
    private final long[] hidden;
    private final long[] records;
    private final MemoryBudget budget;
    private final long reserved;

    /**
     * @param starts where each partition begins, and the end of the last
     * @param hidden the bytes that the records of each partition would take beyond that
     * @param records how many each partition has
     * @param budget that the array was reserved from
     * @param reserved how much of it, which need not be the length of the array
     */
    MemoryRun(byte[] bytes, int[] starts, long[] hidden, long[] records, MemoryBudget budget, long reserved) {
        this.bytes = bytes;
        this.starts = starts;
        this.hidden = hidden;
        this.records = records;
        this.budget = budget;
        this.reserved = reserved;
    }

    @Override
    public long bytes(int partition) {
        return starts[partition + 1] - starts[partition];
    }

    @Override
    public long wholeBytes(int partition) {
        return bytes(partition) + hidden[partition];
    }

    @Override
    public long records(int partition) {
        return records[partition];
    }

    @Override
    public RunCursor open(int partition) throws IOException {
        byte[] bytes = this.bytes;
        if (bytes == null) {
            throw new IOException("The job has ended, and its pairs are gone");
        }
        return new Cursor(bytes, starts[partition], starts[partition + 1]);
    }

    @Override
    public boolean onDisk() {
        return false;
    }

    @Override
    public synchronized void release() {
        if (bytes != null) {
            budget.release(reserved);
            bytes = null;
        }
    }

    private static final class Cursor extends RunCursor {
        private final int end;
        private int at;

        Cursor(byte[] bytes, int start, int end) {
            this.bytes = bytes;
            this.at = start;
            this.end = end;
        }

        @Override
        public boolean next() {
            if (at == end) {
                return false;
            }
            keyLength = vintAt(bytes, at);
            at += WritableUtils.decodeVIntSize(bytes[at]);
            valueLength = vintAt(bytes, at);
            at += WritableUtils.decodeVIntSize(bytes[at]);
            keyStart = at;
            at += keyLength + valueLength;
            return true;
        }
    }
}
