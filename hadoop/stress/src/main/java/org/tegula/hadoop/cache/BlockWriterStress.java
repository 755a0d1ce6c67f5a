package org.tegula.hadoop.cache;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIJ_Result;
import org.tegula.hadoop.live.KnownSize;

/** Blocks that are begun, ended and given up by several threads: their room is given back, once. */
public class BlockWriterStress {
    private static final long LIMIT_BYTES = 1 << 16;
    private static final BytesWritable LARGE = new BytesWritable(new byte[300]);

    private static BlockWriter writer(PairCache cache, boolean promised) {
        BlockWriter writer = BlockWriter.ofOutput(cache, promised, new KnownSize());
        writer.add(new IntWritable(7), new IntWritable(7));
        return writer;
    }

    /** A task is killed while it ends. */
    @JCStressTest
    @Outcome(
            id = {"7, 0, 0", "0, 0, 0"},
            expect = ACCEPTABLE,
            desc = "All of it, or nothing")
    @Outcome(expect = FORBIDDEN, desc = "A block without room, or room without a block")
    @State
    public static class FinishWhileItIsAbandoned {
        private final PairCache cache = new PairCache(LIMIT_BYTES);
        private final BlockWriter writer = writer(cache, false);
        private PairBlock block;

        @Actor
        public void finish(IIJ_Result result) {
            block = writer.finish();
            result.r1 = Blocks.number(block);
        }

        @Actor
        public void abandon() {
            writer.abandon();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            if (block != null) {
                block.release();
            }
            result.r3 = cache.usedBytes();
        }
    }

    /** The same with objects that are passed on, one of them with a room of its own. */
    @JCStressTest
    @Outcome(
            id = {"2, 0, 0", "0, 0, 0"},
            expect = ACCEPTABLE,
            desc = "All of it, or nothing")
    @Outcome(expect = FORBIDDEN, desc = "A block without room, or room without a block")
    @State
    public static class FinishObjectsWhileTheyAreAbandoned {
        private final PairCache cache = new PairCache(LIMIT_BYTES);
        private final BlockWriter writer = BlockWriter.ofOutput(cache, true, new KnownSize());
        private PairBlock block;

        public FinishObjectsWhileTheyAreAbandoned() {
            writer.add(LARGE, LARGE);
            writer.add(LARGE, LARGE);
        }

        @Actor
        public void finish(IIJ_Result result) {
            block = writer.finish();
            result.r1 = block == null ? 0 : (int) block.pairs();
        }

        @Actor
        public void abandon() {
            writer.abandon();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            if (block != null) {
                block.release();
            }
            result.r3 = cache.usedBytes();
        }
    }

    /** Two threads of a mapper write, and one of them ends the block. */
    @JCStressTest
    @Outcome(
            id = {"1, 0, 0", "2, 0, 0"},
            expect = ACCEPTABLE,
            desc = "With the other's pair, or without")
    @Outcome(expect = FORBIDDEN, desc = "A damaged block, or counted wrongly")
    @State
    public static class AddWhileItIsFinished {
        private final PairCache cache = new PairCache(LIMIT_BYTES);
        private final BlockWriter writer = writer(cache, false);
        private PairBlock block;

        @Actor
        public void add() {
            writer.add(new IntWritable(8), new IntWritable(8));
        }

        @Actor
        public void finish(IIJ_Result result) {
            block = writer.finish();
            result.r1 = (int) block.pairs();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            block.release();
            result.r3 = cache.usedBytes();
        }
    }

    /** A block is dropped by the cache and by its file at once, while a reader has it. */
    @JCStressTest
    @Outcome(id = "7, 0, 0", expect = ACCEPTABLE, desc = "The reader goes on, and the room is given back once")
    @Outcome(expect = FORBIDDEN, desc = "A damaged block, or counted wrongly")
    @State
    public static class TwoReleaseObjects {
        private final PairCache cache = new PairCache(LIMIT_BYTES);
        private final PairBlock block = writer(cache, true).finish();

        @Actor
        public void one(IIJ_Result result) {
            block.release();
            result.r1 = Blocks.number(block);
        }

        @Actor
        public void other() {
            block.release();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = cache.usedBytes();
        }
    }

    /** Two jobs keep the same large object, in a block each; both blocks go. */
    @JCStressTest
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Nothing is counted any more")
    @Outcome(expect = FORBIDDEN, desc = "Counted wrongly")
    @State
    public static class TwoBlocksOfOneObjectGo {
        private final PairCache cache = new PairCache(LIMIT_BYTES);
        private final PairBlock first;
        private final PairBlock second;

        public TwoBlocksOfOneObjectGo() {
            KnownSize known = new KnownSize();
            first = block(known);
            second = block(known);
        }

        private PairBlock block(KnownSize known) {
            BlockWriter writer = BlockWriter.ofOutput(cache, true, known);
            writer.add(LARGE, LARGE);
            return writer.finish();
        }

        @Actor
        public void one() {
            first.release();
        }

        @Actor
        public void other() {
            second.release();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = cache.usedBytes();
        }
    }
}
