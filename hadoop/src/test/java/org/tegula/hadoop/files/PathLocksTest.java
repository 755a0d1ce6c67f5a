package org.tegula.hadoop.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Changes of names wait for each other only where they must, and never in turn. */
@Timeout(30)
class PathLocksTest {
    private final PathLocks locks = new PathLocks();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void end() throws InterruptedException {
        threads.shutdown();
        assertTrue(threads.awaitTermination(20, TimeUnit.SECONDS));
        assertEquals(0, locks.size(), "locks that are left");
    }

    @ParameterizedTest
    @CsvSource({
        "/a/b, /a/b, /a/b",
        "/a/b, /a/bc, /a",
        "/a/b, /a/b/c/d, /a/b",
        "/a/b/c/d, /a/b, /a/b",
        "/a/x/y, /a/x/z, /a/x",
        "/a, /b, ''",
        "hdfs://h:1/a, hdfs://h:1/b, hdfs://h:1"
    })
    void theAncestorOfTwoNamesIsTheLastFolderOfBoth(String one, String other, String ancestor) {
        assertEquals(ancestor, PathLocks.commonAncestor(one, other));
    }

    /** Starts a change that goes on until the latch opens, and returns when it is in it. */
    private Future<?> hold(String name, CountDownLatch until) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        Future<?> holder = threads.submit(() -> locks.change(name, () -> {
            begun.countDown();
            try {
                return until.await(20, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                throw new java.io.IOException(e);
            }
        }));
        assertTrue(begun.await(10, TimeUnit.SECONDS));
        return holder;
    }

    @Test
    void onlyChangesOfTheSameFilesWait() throws Exception {
        CountDownLatch until = new CountDownLatch(1);
        hold("/a/b", until);
        assertTrue(locks.change("/a/c", () -> true));
        assertTrue(locks.change("/b", () -> true));
        List<Future<Boolean>> waiting = new ArrayList<>();
        for (String each : List.of("/a/b", "/a/b/c", "/a", "")) {
            waiting.add(threads.submit(() -> locks.change(each, () -> true)));
        }
        Thread.sleep(50);
        for (Future<Boolean> each : waiting) {
            assertFalse(each.isDone());
        }
        until.countDown();
        for (Future<Boolean> each : waiting) {
            assertTrue(each.get());
        }
    }

    @Test
    void aChangeMayMakeOthersBelowAndNoneAbove() throws Exception {
        assertTrue(locks.change("/a", () -> locks.change("/a/b/c", () -> locks.change("/a", () -> true))));
        assertThrows(IllegalStateException.class, () -> locks.change("/a/b", () -> locks.change("/a", () -> true)));
    }

    /** Each change finds all below its name as it has left it; were there a deadlock, the test would not end. */
    @Test
    void changesAreAloneWithTheirNames() throws Exception {
        List<String> names = List.of("", "/a", "/b", "/a/c", "/a/d", "/b/c", "/a/c/e", "/a/c/f", "/b/c/e");
        AtomicIntegerArray users = new AtomicIntegerArray(names.size());
        List<Future<?>> all = new ArrayList<>();
        for (int thread = 0; thread < 6; thread++) {
            Random random = new Random(thread);
            all.add(threads.submit(() -> {
                for (int i = 0; i < 2000; i++) {
                    String one = names.get(random.nextInt(names.size()));
                    String other = names.get(random.nextInt(names.size()));
                    String ancestor = PathLocks.commonAncestor(one, other);
                    locks.change(ancestor, () -> {
                        for (int step : new int[] {1, -1}) {
                            for (int each = 0; each < names.size(); each++) {
                                if ((names.get(each) + "/").startsWith(ancestor + "/")) {
                                    assertEquals(step == 1 ? 1 : 0, users.addAndGet(each, step));
                                }
                            }
                        }
                        return null;
                    });
                }
                return null;
            }));
        }
        for (Future<?> each : all) {
            each.get();
        }
    }
}
