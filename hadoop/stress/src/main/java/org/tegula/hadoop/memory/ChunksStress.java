package org.tegula.hadoop.memory;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.io.IOException;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A reader that is opened while bytes are written reads the first of them, as they were written. */
public class ChunksStress {
    private static final int DAMAGED = -1;

    /** How many bytes a reader reads; each byte must be that of its place. */
    private static int read(Chunks chunks) {
        Chunks.Reader reader = chunks.reader();
        int count = 0;
        for (int next = reader.read(); next >= 0; next = reader.read()) {
            if (next != (count++ & 0xFF)) {
                return DAMAGED;
            }
        }
        return count;
    }

    private static void write(Chunks chunks, int from, int end) {
        byte[] bytes = new byte[end - from];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (from + i);
        }
        try {
            chunks.write(bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @JCStressTest
    @Outcome(
            id = {"0, 0", "0, 5", "5, 5", "0, 9", "5, 9", "9, 9"},
            expect = ACCEPTABLE,
            desc = "What was there")
    @Outcome(expect = FORBIDDEN, desc = "Other bytes, or fewer than before")
    @State
    public static class ReadWhileTheFirstAreWritten {
        private final Chunks chunks = new Chunks(new MemoryBudget(1 << 20));

        @Actor
        public void write() {
            ChunksStress.write(chunks, 0, 5);
            ChunksStress.write(chunks, 5, 9);
        }

        @Actor
        public void read(II_Result result) {
            result.r1 = ChunksStress.read(chunks);
            result.r2 = ChunksStress.read(chunks);
        }
    }

    /** The second of these writes goes over the end of an array. */
    @JCStressTest
    @Outcome(
            id = {"1022, 1022", "1022, 1024", "1022, 1026", "1024, 1024", "1024, 1026", "1026, 1026"},
            expect = ACCEPTABLE,
            desc = "What was there")
    @Outcome(expect = FORBIDDEN, desc = "Other bytes, or fewer than before")
    @State
    public static class ReadWhileAnArrayIsAdded {
        private final Chunks chunks = new Chunks(new MemoryBudget(1 << 20));

        public ReadWhileAnArrayIsAdded() {
            ChunksStress.write(chunks, 0, 1022);
        }

        @Actor
        public void write() {
            ChunksStress.write(chunks, 1022, 1026);
        }

        @Actor
        public void read(II_Result result) {
            result.r1 = ChunksStress.read(chunks);
            result.r2 = ChunksStress.read(chunks);
        }
    }

    @JCStressTest
    @Outcome(id = "9, 0", expect = ACCEPTABLE, desc = "All of it is read, and the room is given back once")
    @Outcome(expect = FORBIDDEN, desc = "Damaged, or counted wrongly")
    @State
    public static class ReadWhileItIsReleased {
        private final MemoryBudget budget = new MemoryBudget(1 << 20);
        private final Chunks chunks = new Chunks(budget);

        public ReadWhileItIsReleased() {
            ChunksStress.write(chunks, 0, 9);
        }

        @Actor
        public void release(II_Result result) {
            chunks.release();
            result.r2 = (int) budget.usedBytes();
        }

        @Actor
        public void read(II_Result result) {
            result.r1 = ChunksStress.read(chunks);
        }
    }
}
