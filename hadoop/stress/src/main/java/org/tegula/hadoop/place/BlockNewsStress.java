package org.tegula.hadoop.place;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.io.IOException;
import org.apache.hadoop.io.DataOutputBuffer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.tegula.hadoop.cache.BlockKey;

/** Two tasks end while the cache takes a block: the driver hears of it once. */
@JCStressTest
@Outcome(
        id = {"0, 1", "1, 0"},
        expect = ACCEPTABLE,
        desc = "With this answer, or with the next")
@Outcome(expect = FORBIDDEN, desc = "Never, or twice")
@State
public class BlockNewsStress {
    private static final BlockKey KEY = new BlockKey("user", "file", 0, 10, "format");

    private final BlockNews news = new BlockNews();

    private int told() {
        DataOutputBuffer out = new DataOutputBuffer();
        try {
            news.write(out);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return out.getData()[Integer.BYTES - 1];
    }

    @Actor
    public void keep() {
        news.kept(KEY, 3);
    }

    @Actor
    public void tell(II_Result result) {
        result.r1 = told();
    }

    @Arbiter
    public void end(II_Result result) {
        result.r2 = told();
    }
}
