package org.tegula.hadoop.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Pieces of work run where they belong, unless a slot would be idle for it. */
@Timeout(30)
class SlotsTest {
    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void run(Slots.Line line, int home, CountDownLatch done, IntConsumer body) {
        line.add(home, "piece", slot -> {
            try {
                body.accept(slot);
            } finally {
                done.countDown();
            }
        });
    }

    /** An idle slot takes no piece of another place, and all pieces run all the same. */
    @Test
    void piecesRunAtThePlaceOfTheirSlot() throws InterruptedException {
        Slots slots = new Slots(3, 2);
        Slots.Line line = slots.line(0);
        int pieces = 60;
        CountDownLatch done = new CountDownLatch(pieces);
        Queue<String> wrong = new ConcurrentLinkedQueue<>();
        for (int i = 0; i < pieces; i++) {
            int partition = i % 2 == 0 ? 1 : i; // more for place 1 than for the others
            line.add(slots.slotOf(partition), "piece " + i, slot -> {
                if (slots.placeOf(slot) != slots.placeOfPartition(partition)) {
                    wrong.add(partition + " in slot " + slot);
                }
                done.countDown();
            });
        }
        line.begin();
        assertTrue(done.await(20, TimeUnit.SECONDS));
        assertTrue(wrong.isEmpty(), wrong::toString);
    }

    @Test
    void runsPiecesAtHomeLineAfterLine() throws Exception {
        Slots slots = new Slots(3);
        Map<Integer, Thread> threads = new ConcurrentHashMap<>();
        for (int round = 0; round < 20; round++) {
            CyclicBarrier together = new CyclicBarrier(3);
            CountDownLatch done = new CountDownLatch(3);
            Slots.Line line = slots.line(0);
            for (int home = 5; home >= 3; home--) {
                int number = home;
                run(line, number, done, slot -> {
                    await(together);
                    assertEquals(number % 3, slot);
                    Thread first = threads.putIfAbsent(number, Thread.currentThread());
                    assertTrue(first == null || first == Thread.currentThread());
                    threads.put(number + 10, Thread.currentThread());
                });
            }
            line.begin();
            done.await();
        }
        assertEquals(3, threads.keySet().stream().filter(key -> key >= 10).count());
    }

    @Test
    void leavesNoSlotIdleForWhatBelongsElsewhere() throws Exception {
        Slots slots = new Slots(2);
        CyclicBarrier together = new CyclicBarrier(2);
        CountDownLatch done = new CountDownLatch(4);
        Slots.Line line = slots.line(0);
        for (int i = 0; i < 4; i++) {
            run(line, 0, done, slot -> await(together));
        }
        line.begin();
        done.await();
    }

    @Test
    void takesLinesByRankAndThenInTurn() throws Exception {
        Slots slots = new Slots(1);
        List<String> order = new ArrayList<>();
        CountDownLatch done = new CountDownLatch(4);
        Slots.Line first = slots.line(1);
        Slots.Line second = slots.line(1);
        Slots.Line urgent = slots.line(0);
        run(second, Slots.ANYWHERE, done, slot -> order.add("second"));
        run(first, 7, done, slot -> order.add("first, a"));
        run(first, Slots.ANYWHERE, done, slot -> order.add("first, b"));
        run(urgent, Slots.ANYWHERE, done, slot -> order.add("urgent"));
        urgent.begin();
        done.await();
        assertEquals(List.of("urgent", "first, a", "second", "first, b"), order);
    }

    /**
     * The first line has much more to do than the others, which come later and one after the other. Pieces run in rounds of
     * one for each slot, so no slot runs more of them while the thread of another waits for a processor.
     */
    @Test
    void linesOfOneRankHaveFairShares() throws Exception {
        Slots slots = new Slots(4);
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        CyclicBarrier round = new CyclicBarrier(4);
        CountDownLatch done = new CountDownLatch(1000 + 2 * 20);
        CountDownLatch full = new CountDownLatch(4);
        CountDownLatch go = new CountDownLatch(1);
        Slots.Line large = slots.line(0);
        for (int i = 0; i < 1000; i++) {
            run(large, i, done, slot -> {
                full.countDown();
                awaitQuietly(go);
                order.add("large");
                await(round);
            });
        }
        large.begin();
        full.await();
        for (String name : List.of("small", "other")) {
            Slots.Line line = slots.line(0);
            for (int i = 0; i < 20; i++) {
                run(line, i, done, slot -> {
                    order.add(name);
                    await(round);
                });
            }
            line.begin();
        }
        go.countDown();
        done.await();
        assertTrue(order.lastIndexOf("small") < 200, "small ends at " + order.lastIndexOf("small"));
        assertTrue(order.lastIndexOf("other") < 200, "other ends at " + order.lastIndexOf("other"));
    }

    @Test
    void goesOnWithoutWhatNeverReturnsAndWithWhatThrows() throws Exception {
        Slots slots = new Slots(1);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AtomicReference<Thread> stuck = new AtomicReference<>();
        AtomicReference<Thread> next = new AtomicReference<>();
        Slots.Line line = slots.line(0);
        Slots.Piece piece = line.add(0, "stuck", slot -> {
            stuck.set(Thread.currentThread());
            begun.countDown();
            while (end.getCount() > 0) {
                Thread.onSpinWait();
            }
        });
        CountDownLatch done = new CountDownLatch(2);
        run(line, 0, done, slot -> {
            throw new IllegalStateException("thrown on purpose");
        });
        run(line, 0, done, slot -> next.set(Thread.currentThread()));
        line.begin();
        begun.await();
        assertEquals(1, slots.used());
        piece.leave();
        piece.leave();
        done.await();
        assertNotSame(stuck.get(), next.get());
        end.countDown();
        stuck.get().join();
    }

    @Test
    void interruptsAPieceAndNotWhatFollowsIt() throws Exception {
        Slots slots = new Slots(1);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(2);
        AtomicReference<Thread> first = new AtomicReference<>();
        AtomicReference<Boolean> interrupted = new AtomicReference<>();
        Slots.Line line = slots.line(0);
        Slots.Piece piece = line.add(0, "waits", slot -> {
            first.set(Thread.currentThread());
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            done.countDown();
        });
        run(line, 0, done, slot -> {
            interrupted.set(Thread.currentThread().isInterrupted());
            assertSame(first.get(), Thread.currentThread());
        });
        line.begin();
        begun.await();
        assertFalse(piece.leaveQueue());
        piece.interrupt();
        done.await();
        assertEquals(false, interrupted.get());
        piece.interrupt();
    }

    @Test
    void lendsASlotThatNobodyNeedsUntilItReturns() throws Exception {
        Slots slots = new Slots(2);
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(3);
        Slots.Line line = slots.line(0);
        Slots.Piece task = line.add(0, "task", slot -> awaitQuietly(end));
        line.begin();
        assertTrue(slots.lend(0, "helper", () -> {
            awaitQuietly(end);
            done.countDown();
        }));
        assertFalse(slots.lend(0, "another", () -> {
            throw new AssertionError("no slot is free");
        }));
        run(line, 1, done, slot -> {});
        line.begin();
        assertFalse(slots.lend(0, "another", () -> {
            throw new AssertionError("somebody waits");
        }));
        assertEquals(2, slots.used());
        end.countDown();
        run(line, 1, done, slot -> {});
        line.begin();
        done.await();
        assertFalse(task.leaveQueue());
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void takesBackWhatWaits() throws Exception {
        Slots slots = new Slots(1);
        CountDownLatch done = new CountDownLatch(1);
        Slots.Line line = slots.line(0);
        Slots.Piece piece = line.add(3, "never", slot -> {
            throw new AssertionError("it was taken back");
        });
        assertTrue(piece.leaveQueue());
        assertFalse(piece.leaveQueue());
        run(line, 0, done, slot -> {});
        line.begin();
        done.await();
    }
}
