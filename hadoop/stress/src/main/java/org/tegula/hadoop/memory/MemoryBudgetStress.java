package org.tegula.hadoop.memory;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIJ_Result;

/** What is reserved is within the limit, and is counted. */
public class MemoryBudgetStress {
    private static int number(boolean reserved) {
        return reserved ? 1 : 0;
    }

    /** Each fits alone. */
    @JCStressTest
    @Outcome(
            id = {"1, 0, 8", "0, 1, 8"},
            expect = ACCEPTABLE,
            desc = "One of them has the room")
    @Outcome(expect = FORBIDDEN, desc = "Both have it, or neither")
    @State
    public static class TwoThatDoNotFitTogether {
        private final MemoryBudget budget = new MemoryBudget(10);

        @Actor
        public void one(IIJ_Result result) {
            result.r1 = number(budget.reserve(8));
        }

        @Actor
        public void other(IIJ_Result result) {
            result.r2 = number(budget.reserve(8));
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = budget.usedBytes();
        }
    }

    /** A refusal takes no room from others, not even for a moment: they would go to the disk for nothing. */
    @JCStressTest
    @Outcome(id = "0, 1, 8", expect = ACCEPTABLE, desc = "The one that fits has room")
    @Outcome(expect = FORBIDDEN, desc = "It has none, or the other has some")
    @State
    public static class OneThatFitsBesideOneThatDoesNot {
        private final MemoryBudget budget = new MemoryBudget(10);

        public OneThatFitsBesideOneThatDoesNot() {
            budget.reserve(4);
        }

        @Actor
        public void large(IIJ_Result result) {
            result.r1 = number(budget.reserve(8));
        }

        @Actor
        public void small(IIJ_Result result) {
            result.r2 = number(budget.reserve(4));
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = budget.usedBytes();
        }
    }

    /** Room that is given back is there for the next. */
    @JCStressTest
    @Outcome(
            id = {"0, 0, 0", "0, 1, 8"},
            expect = ACCEPTABLE,
            desc = "Before the other has given it back, or after that")
    @Outcome(expect = FORBIDDEN, desc = "Counted wrongly")
    @State
    public static class OneThatWaitsForRoom {
        private final MemoryBudget budget = new MemoryBudget(10);

        public OneThatWaitsForRoom() {
            budget.reserve(8);
        }

        @Actor
        public void giveBack() {
            budget.release(8);
        }

        @Actor
        public void take(IIJ_Result result) {
            result.r2 = number(budget.reserve(8));
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = budget.usedBytes();
        }
    }
}
