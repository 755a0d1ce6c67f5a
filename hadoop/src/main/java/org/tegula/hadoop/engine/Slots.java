package org.tegula.hadoop.engine;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * So many pieces of work at once, over all jobs: those of a job of higher priority first, then of the job that came
 * first. Each runs in a thread of its own, so that one that never returns can be left behind; its slot goes on.
 */
public final class Slots {
    private static final AtomicLong THREADS = new AtomicLong();

    private final PriorityQueue<Piece> waiting =
            new PriorityQueue<>(Comparator.comparingInt(Piece::rank).thenComparingLong(Piece::number));
    private final int count;
    private int free;
    private long pieces;

    /**
     * Some slots.
     *
     * @param count how many
     */
    public Slots(int count) {
        this.count = count;
        this.free = count;
    }

    /**
     * How many there are.
     *
     * @return pieces of work at once
     */
    public int count() {
        return count;
    }

    /**
     * How many are in use.
     *
     * @return pieces of work that run now
     */
    public synchronized int used() {
        return count - free;
    }

    /**
     * Runs something as soon as a slot is free.
     *
     * @param rank lower ones go first
     * @param name of its thread
     * @param body what to run; it must not throw
     * @return its handle
     */
    public synchronized Piece run(int rank, String name, Runnable body) {
        Piece piece = new Piece(rank, pieces++, name, body);
        waiting.add(piece);
        startNext();
        return piece;
    }

    private void startNext() {
        while (free > 0 && !waiting.isEmpty()) {
            free--;
            waiting.remove().start();
        }
    }

    private synchronized void release() {
        free++;
        startNext();
    }

    /** Something that was handed in. */
    public final class Piece {
        private final int rank;
        private final long number;
        private final Thread thread;
        private boolean holdsSlot;

        private Piece(int rank, long number, String name, Runnable body) {
            this.rank = rank;
            this.number = number;
            thread = new Thread(() -> work(body), name + "-" + THREADS.incrementAndGet());
            thread.setDaemon(true);
        }

        private int rank() {
            return rank;
        }

        private long number() {
            return number;
        }

        private void start() {
            holdsSlot = true;
            thread.start();
        }

        private void work(Runnable body) {
            try {
                body.run();
            } finally {
                leave();
            }
        }

        /** Gives the slot to others, whether the thread has ended or not; nothing happens the second time. */
        public void leave() {
            synchronized (Slots.this) {
                if (holdsSlot) {
                    holdsSlot = false;
                    release();
                }
            }
        }

        /**
         * Takes back what has not begun.
         *
         * @return false if it has begun
         */
        public boolean leaveQueue() {
            synchronized (Slots.this) {
                return waiting.remove(this);
            }
        }

        /** Interrupts the thread. */
        public void interrupt() {
            thread.interrupt();
        }
    }
}
