package org.tegula.hadoop.files;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIJ_Result;
import org.tegula.hadoop.cache.PlacedPairs;
import org.tegula.hadoop.memory.MemoryBudget;

/** A file that has pairs, of which bytes are made for its readers. */
public class HeldFileStress {
    private static final Configuration CONF = new Configuration(false);
    private static final long ROOM_BYTES = 1 << 20;
    private static final int LENGTH = 5;

    private static final class Pairs implements PlacedPairs.Source {
        @Override
        public String id() {
            return "id";
        }

        @Override
        public void writeTo(OutputStream out) throws IOException {
            out.write(new byte[LENGTH]);
        }

        @Override
        public void release() {}
    }

    private static HeldFile file(MemoryBudget budget) {
        HeldFile file = HeldFile.file(budget, null, Long.MAX_VALUE);
        file.complete(new PlacedPairs(LENGTH, 0, new Pairs(), CONF));
        return file;
    }

    private static int read(HeldFile file) {
        try {
            return file.bytes().reader().readAllBytes().length;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @JCStressTest
    @Outcome(id = "5, 5, 1024", expect = ACCEPTABLE, desc = "Both read the bytes, which are made once")
    @Outcome(expect = FORBIDDEN, desc = "Made twice, or not whole")
    @State
    public static class TwoReaders {
        private final MemoryBudget budget = new MemoryBudget(ROOM_BYTES);
        private final HeldFile file = file(budget);

        @Actor
        public void one(IIJ_Result result) {
            result.r1 = read(file);
        }

        @Actor
        public void other(IIJ_Result result) {
            result.r2 = read(file);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = budget.usedBytes();
        }
    }

    @JCStressTest
    @Outcome(id = "5, 0, 0", expect = ACCEPTABLE, desc = "An open reader goes on, and no room is left")
    @Outcome(expect = FORBIDDEN, desc = "Not whole, or room that nobody gives back")
    @State
    public static class ReadWhileItIsDeleted {
        private final MemoryBudget budget = new MemoryBudget(ROOM_BYTES);
        private final HeldFile file = file(budget);

        @Actor
        public void read(IIJ_Result result) {
            result.r1 = HeldFileStress.read(file);
        }

        @Actor
        public void delete() {
            file.release();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = budget.usedBytes();
        }
    }

    /** Its job is killed while the last task writes. */
    @JCStressTest
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "No room is left")
    @Outcome(expect = FORBIDDEN, desc = "Room that nobody gives back, or that is given back twice")
    @State
    public static class CompleteWhileItIsDeleted {
        private final MemoryBudget budget = new MemoryBudget(ROOM_BYTES);
        private final HeldFile file = HeldFile.file(budget, null, Long.MAX_VALUE);

        @Actor
        public void write() {
            try {
                file.bytes().write(1);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
            file.complete();
        }

        @Actor
        public void delete() {
            file.release();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = budget.usedBytes();
        }
    }
}
