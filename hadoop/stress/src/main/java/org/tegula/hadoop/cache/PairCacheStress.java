package org.tegula.hadoop.cache;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIJ_Result;

/** Tasks that find, put, rename and drop blocks at once. What is found is whole, and what is counted is what is kept. */
public class PairCacheStress {
    private static final BlockKey KEY = Blocks.key("file:/x/a");
    private static final BlockKey OTHER = Blocks.key("file:/x/b");
    private static final long LIMIT_BYTES = 1 << 14;

    /** A reader looks twice while a writer commits. */
    @JCStressTest
    @Outcome(
            id = {"0, 0, 0", "0, 7, 0", "7, 7, 0"},
            expect = ACCEPTABLE,
            desc = "Not yet, or all of it from then on")
    @Outcome(expect = FORBIDDEN, desc = "A part, not any more, or counted wrongly")
    @State
    public static class FindWhileItIsPut {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        @Actor
        public void put() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void find(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
            result.r2 = Blocks.find(cache, KEY, Blocks.VERSION);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** Readers of the old version and of the new one, while the file is read anew. */
    @JCStressTest
    @Outcome(
            id = {"7, 0, 0", "7, 8, 0", "0, 0, 0"},
            expect = ACCEPTABLE,
            desc = "Each finds its own, or nothing")
    @Outcome(expect = FORBIDDEN, desc = "The pairs of the other version, or counted wrongly")
    @State
    public static class FindVersionsWhileOneReplacesTheOther {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        public FindVersionsWhileOneReplacesTheOther() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void put() {
            Blocks.put(cache, KEY, 8, Blocks.NEXT_VERSION);
        }

        @Actor
        public void find(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
            result.r2 = Blocks.find(cache, KEY, Blocks.NEXT_VERSION);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** Two tasks have read the same split. */
    @JCStressTest
    @Outcome(
            id = {"7, 0, 0", "8, 0, 0"},
            expect = ACCEPTABLE,
            desc = "One of them is kept, and counted once")
    @Outcome(expect = FORBIDDEN, desc = "None, or counted wrongly")
    @State
    public static class TwoPutTheSame {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        @Actor
        public void one() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void other() {
            Blocks.put(cache, KEY, 8, Blocks.VERSION);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** A block has to go for another while it is read. */
    @JCStressTest
    @Outcome(
            id = {"0, 8, 0", "7, 8, 0"},
            expect = ACCEPTABLE,
            desc = "All of it, or nothing")
    @Outcome(expect = FORBIDDEN, desc = "A part of it, or counted wrongly")
    @State
    public static class FindWhileItIsEvicted {
        private final PairCache cache = new PairCache(Blocks.ONE_BYTES);

        public FindWhileItIsEvicted() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void evict() {
            Blocks.put(cache, OTHER, 8, Blocks.VERSION);
        }

        @Actor
        public void find(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r2 = Blocks.find(cache, OTHER, Blocks.VERSION);
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** Two blocks are written, of which one fits. */
    @JCStressTest
    @Outcome(
            id = {"7, 0, 0", "0, 8, 0"},
            expect = ACCEPTABLE,
            desc = "One is kept")
    @Outcome(expect = FORBIDDEN, desc = "Both or none, or counted wrongly")
    @State
    public static class TwoPutIntoRoomForOne {
        private final PairCache cache = new PairCache(Blocks.ONE_BYTES);

        @Actor
        public void one() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void other() {
            Blocks.put(cache, OTHER, 8, Blocks.VERSION);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
            result.r2 = Blocks.find(cache, OTHER, Blocks.VERSION);
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** A file is deleted while pairs of it are put. */
    @JCStressTest
    @Outcome(
            id = {"0, 0, 0", "7, 0, 0"},
            expect = ACCEPTABLE,
            desc = "Dropped, or put after that")
    @Outcome(expect = FORBIDDEN, desc = "Counted wrongly")
    @State
    public static class ForgetWhileItIsPut {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        @Actor
        public void put() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void forget() {
            cache.forget("file:/x");
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** Two drop the same block: one the folder, one all. */
    @JCStressTest
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Its room is given back once")
    @Outcome(expect = FORBIDDEN, desc = "Twice, or never")
    @State
    public static class TwoForgetTheSame {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        public TwoForgetTheSame() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void forget() {
            cache.forget("file:/x");
        }

        @Actor
        public void clear() {
            cache.clear();
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
            result.r3 = cache.usedBytes();
        }
    }

    /** A job commits its output, whose pairs follow to the new name, while another looks for both names. */
    @JCStressTest
    @Outcome(
            id = {"7, 7, 0", "0, 7, 0"},
            expect = ACCEPTABLE,
            desc = "Under its old name at most until it has the new one")
    @Outcome(expect = FORBIDDEN, desc = "Lost on the way, or counted wrongly")
    @State
    public static class FindWhileItIsRenamed {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        public FindWhileItIsRenamed() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void rename() {
            cache.renamed("file:/x", "file:/y", name -> Blocks.VERSION);
        }

        @Actor
        public void find(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r2 = Blocks.find(cache, Blocks.key("file:/y/a"), Blocks.VERSION);
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** A folder is renamed and its new name deleted at once. */
    @JCStressTest
    @Outcome(
            id = {"0, 0, 0", "0, 7, 0"},
            expect = ACCEPTABLE,
            desc = "Renamed before it is deleted, or after that")
    @Outcome(expect = FORBIDDEN, desc = "Under both names, or counted wrongly")
    @State
    public static class ForgetWhileItIsRenamed {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        public ForgetWhileItIsRenamed() {
            Blocks.put(cache, KEY, 7, Blocks.VERSION);
        }

        @Actor
        public void rename() {
            cache.renamed("file:/x", "file:/y", name -> Blocks.VERSION);
        }

        @Actor
        public void forget() {
            cache.forget("file:/y");
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r1 = Blocks.find(cache, KEY, Blocks.VERSION);
            result.r2 = Blocks.find(cache, Blocks.key("file:/y/a"), Blocks.VERSION);
            result.r3 = Blocks.leftOf(cache);
        }
    }

    /** The place of a block is lost while it tells of another one. */
    @JCStressTest
    @Outcome(
            id = {"-1, -1, 0", "-1, 3, 0"},
            expect = ACCEPTABLE,
            desc = "What it had before is forgotten")
    @Outcome(expect = FORBIDDEN, desc = "A block that is nowhere")
    @State
    public static class PlaceIsLostWhileItTells {
        private final PairCache cache = new PairCache(LIMIT_BYTES);

        public PlaceIsLostWhileItTells() {
            cache.keptElsewhere(KEY, 3);
        }

        @Actor
        public void tell() {
            cache.keptElsewhere(OTHER, 3);
        }

        @Actor
        public void lose() {
            cache.lostElsewhere(2, 4);
        }

        @Arbiter
        public void end(IIJ_Result result) {
            result.r1 = cache.home(KEY);
            result.r2 = cache.home(OTHER);
        }
    }
}
