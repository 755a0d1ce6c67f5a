package org.tegula.hadoop.run;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.io.IOException;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IJ_Result;
import org.tegula.hadoop.memory.MemoryBudget;

/** Another place reads a run of a job that ends, twice: because it was lost, and because it is closed. */
@JCStressTest
@Outcome(
        id = {"7, 0", "-1, 0"},
        expect = ACCEPTABLE,
        desc = "The record, or that the job has ended")
@Outcome(expect = FORBIDDEN, desc = "Another record, or room that is not given back once")
@State
public class MemoryRunStress {
    private final MemoryBudget budget = new MemoryBudget(1 << 10);
    private final Run run;

    public MemoryRunStress() {
        try (RunWriter writer = RunWriter.create(4, 1, budget, null)) {
            writer.append(0, new byte[] {7}, 0, 1, new byte[] {8}, 0, 1);
            run = writer.finish();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Actor
    public void read(IJ_Result result) {
        try (RunCursor at = run.open(0)) {
            result.r1 = at.next() && at.bytes()[at.valueStart()] == 8 ? at.bytes()[at.keyStart()] : 0;
        } catch (IOException e) {
            result.r1 = -1;
        }
        run.release();
    }

    @Actor
    public void end() {
        run.release();
    }

    @Arbiter
    public void end(IJ_Result result) {
        result.r2 = budget.usedBytes();
    }
}
