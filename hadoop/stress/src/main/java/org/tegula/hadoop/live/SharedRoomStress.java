package org.tegula.hadoop.live;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IJ_Result;
import org.tegula.hadoop.memory.MemoryBudget;

/** The room of an object is given back by the last that holds it, once. */
public class SharedRoomStress {
    private static final int BYTES = 300;

    /** A block is dropped while a task finds its object in it. */
    @JCStressTest
    @Outcome(id = "1, 300", expect = ACCEPTABLE, desc = "Held again, and counted")
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "Given back before")
    @Outcome(expect = FORBIDDEN, desc = "Held without room, or room that nobody holds")
    @State
    public static class HoldWhileTheOnlyHolderLetsGo {
        private final MemoryBudget budget = new MemoryBudget(1 << 10);
        private final SharedRoom room = SharedRoom.reserve(budget, BYTES);

        @Actor
        public void hold(IJ_Result result) {
            result.r1 = room.hold(budget) ? 1 : 0;
        }

        @Actor
        public void letGo() {
            room.letGo();
        }

        @Arbiter
        public void end(IJ_Result result) {
            result.r2 = budget.usedBytes();
        }
    }

    @JCStressTest
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "Given back once")
    @Outcome(expect = FORBIDDEN, desc = "Never, or twice")
    @State
    public static class BothHoldersLetGo {
        private final MemoryBudget budget = new MemoryBudget(1 << 10);
        private final SharedRoom room = SharedRoom.reserve(budget, BYTES);

        public BothHoldersLetGo() {
            room.hold(budget);
        }

        @Actor
        public void one() {
            room.letGo();
        }

        @Actor
        public void other() {
            room.letGo();
        }

        @Arbiter
        public void end(IJ_Result result) {
            result.r2 = budget.usedBytes();
        }
    }
}
