package org.tegula.hadoop.live;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.io.IOException;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIJ_Result;
import org.openjdk.jcstress.infra.results.IIL_Result;
import org.openjdk.jcstress.infra.results.IJ_Result;
import org.tegula.hadoop.memory.MemoryBudget;

/** Pairs of all tasks of a job: each number is given out once, and nothing of an ended job is left. */
public class LiveValuesStress {
    private static final int KEY_BYTES = 4;
    private static final int VALUE_BYTES = 300;
    private static final int GONE = -1;
    private static final int NOTHING = -2;

    private static LiveValues.Pair pair(int key) {
        return new LiveValues.Pair(key, "value", VALUE_BYTES, null);
    }

    /** The key of a pair. */
    private static int key(LiveValues values, int number) {
        try {
            LiveValues.Pair found = values.get(number);
            return found == null ? NOTHING : (int) found.key();
        } catch (IOException e) {
            return GONE;
        }
    }

    @JCStressTest
    @Outcome(
            id = {"0, 1, 7 8", "1, 0, 7 8"},
            expect = ACCEPTABLE,
            desc = "Each has a number of its own, and its pair")
    @Outcome(expect = FORBIDDEN, desc = "One of them is lost")
    @State
    public static class TwoTasksAdd {
        private final LiveValues values = new LiveValues(new MemoryBudget(1 << 20));

        @Actor
        public void one(IIL_Result result) {
            result.r1 = values.add(pair(7), KEY_BYTES);
        }

        @Actor
        public void other(IIL_Result result) {
            result.r2 = values.add(pair(8), KEY_BYTES);
        }

        @Arbiter
        public void end(IIL_Result result) {
            result.r3 = key(values, result.r1) + " " + key(values, result.r2);
        }
    }

    /** A task that was abandoned adds pairs when its job has ended. */
    @JCStressTest
    @Outcome(
            id = {"-1, 0", "0, 0"},
            expect = ACCEPTABLE,
            desc = "Refused, or dropped with the job's")
    @Outcome(expect = FORBIDDEN, desc = "Its room is lost, or given back twice")
    @State
    public static class AddWhileTheJobEnds {
        private final MemoryBudget budget = new MemoryBudget(1 << 20);
        private final LiveValues values = new LiveValues(budget);

        @Actor
        public void add(IJ_Result result) {
            result.r1 = values.add(pair(7), KEY_BYTES);
        }

        @Actor
        public void end() {
            values.release();
        }

        @Arbiter
        public void end(IJ_Result result) {
            result.r2 = budget.usedBytes();
        }
    }

    /** Another place still fetches a pair then: it is told that it is gone. */
    @JCStressTest
    @Outcome(id = "7, -1, 0", expect = ACCEPTABLE, desc = "The pair, and then that it is gone")
    @Outcome(expect = FORBIDDEN, desc = "Nothing in place of the pair, or it is still there")
    @State
    public static class FetchWhileAnAbandonedTaskAddsAfterTheEnd {
        private final MemoryBudget budget = new MemoryBudget(1 << 20);
        private final LiveValues values = new LiveValues(budget);

        public FetchWhileAnAbandonedTaskAddsAfterTheEnd() {
            values.add(pair(7), KEY_BYTES);
        }

        @Actor
        public void add() {
            values.add(pair(8), KEY_BYTES);
        }

        @Actor
        public void endAndFetch(IIJ_Result result) {
            result.r1 = key(values, 0);
            values.release();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r2 = key(values, 0);
            result.r3 = budget.usedBytes();
        }
    }
}
