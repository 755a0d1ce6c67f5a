package org.tegula.hadoop.live;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Threads of a task that hand on objects at once: the size of an object is its own, or not known. */
@JCStressTest
@Outcome(
        id = {"-1, -1", "1, -1", "-1, 2", "1, 2"},
        expect = ACCEPTABLE,
        desc = "The right size, or none")
@Outcome(expect = FORBIDDEN, desc = "The size of another object")
@State
public class KnownSizeStress {
    private final KnownSize known = new KnownSize();
    private final Object small = new Object();
    private final Object large = new Object();

    @Actor
    public void small(II_Result result) {
        known.set(small, 1, null);
        result.r2 = known.of(large);
    }

    @Actor
    public void large(II_Result result) {
        known.set(large, 2, null);
        result.r1 = known.of(small);
    }
}
