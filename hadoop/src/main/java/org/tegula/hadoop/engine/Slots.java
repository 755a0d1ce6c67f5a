package org.tegula.hadoop.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a limited number of pieces of work at once, over all jobs: those of a line of lower rank first. Lines of one rank share
 * the slots: a free slot goes to the line that has the fewest, and among equals to the one that has begun the fewest pieces
 * since both wait, then to the older one. Within a line, a slot takes the pieces that belong to it and those that belong to
 * none, in turn, and then those that would wait longest elsewhere at its place. So pieces that belong together run in one slot
 * as long as no slot of their place is idle, and always at one place.
 *
 * <p>A slot's thread goes from piece to piece. A piece that never returns can be abandoned with its thread; the slot continues
 * with another. Programs may leave data in threads; so a thread ends when it has been idle, and does not begin another line
 * when it is old.
 */
public final class Slots {
    /** A piece that belongs to no slot. */
    public static final int ANYWHERE = -1;

    private static final Logger LOG = LoggerFactory.getLogger(Slots.class);
    private static final long IDLE_MILLIS = 5000;
    private static final long OLD_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final List<Slot> slots = new ArrayList<>();
    private final int places;
    private final int perPlace;
    private final TreeSet<Line> waiting =
            new TreeSet<>(Comparator.comparingInt(Line::rank).thenComparingLong(Line::number));
    /** Nothing waits in it. */
    private final Line lent;

    private long lines;
    private long pieces;

    /**
     * Some slots of one place.
     *
     * @param count how many
     */
    public Slots(int count) {
        this(1, count);
    }

    /**
     * The slots of some places: those of a place have numbers in a row.
     *
     * @param places how many places
     * @param perPlace how many slots each has
     */
    public Slots(int places, int perPlace) {
        this.places = places;
        this.perPlace = perPlace;
        for (int i = 0; i < places * perPlace; i++) {
            slots.add(new Slot(i));
        }
        lent = new Line(Integer.MAX_VALUE, -1);
    }

    /**
     * How many places have slots.
     *
     * @return their number
     */
    public int places() {
        return places;
    }

    /**
     * The place of a slot.
     *
     * @param slot its number
     * @return the number of the place
     */
    public int placeOf(int slot) {
        return slot / perPlace;
    }

    /**
     * The slot of a partition, which is the same for all jobs. Partitions go to places in turn.
     *
     * @param partition its number
     * @return the number of the slot
     */
    public int slotOf(int partition) {
        return placeOfPartition(partition) * perPlace + Math.floorMod(Math.floorDiv(partition, places), perPlace);
    }

    /**
     * The place of a partition, which is the same for all jobs.
     *
     * @param partition its number
     * @return the number of the place
     */
    public int placeOfPartition(int partition) {
        return Math.floorMod(partition, places);
    }

    /**
     * How many there are.
     *
     * @return pieces of work at once
     */
    public int count() {
        return slots.size();
    }

    /**
     * How many are in use.
     *
     * @return pieces of work that run now
     */
    public synchronized int used() {
        return (int) slots.stream().filter(slot -> slot.piece != null).count();
    }

    /**
     * A line in which pieces wait.
     *
     * @param rank lower ones go first
     * @return a line without pieces
     */
    public synchronized Line line(int rank) {
        return new Line(rank, lines++);
    }

    /**
     * Runs something short in a slot of a place that nobody needs at the moment.
     *
     * @param place where
     * @param name of its thread
     * @param body to run; it must not throw
     * @return false if no slot is free, or something waits; then it is not run
     */
    public synchronized boolean lend(int place, String name, Runnable body) {
        for (Slot slot : slots.subList(place * perPlace, (place + 1) * perPlace)) {
            if (slot.piece == null && waiting.isEmpty()) {
                slot.begin(new Piece(lent, slots.size(), pieces++, name, ignored -> body.run()));
                return true;
            }
        }
        return false;
    }

    /** Begins waiting pieces: first those that belong to a free slot. */
    private void fill() {
        for (Slot slot : slots) {
            if (slot.piece == null) {
                Line next = next(slot.number);
                if (next != null && next.hasFor(slot.number)) {
                    slot.begin(next.take(slot.number));
                }
            }
        }
        for (Slot slot : slots) {
            if (slot.piece == null) {
                Line next = next(slot.number);
                if (next != null) {
                    slot.begin(next.take(slot.number));
                }
            }
        }
    }

    /** The line whose turn it is in a slot; null if nothing waits that may run at its place. */
    private Line next(int slot) {
        Line next = null;
        for (Line each : waiting) {
            if (next != null && each.rank != next.rank) {
                break;
            }
            if (!each.mayRunAt(placeOf(slot))) {
                continue;
            }
            if (next == null
                    || each.running < next.running
                    || each.running == next.running && each.begun < next.begun) {
                next = each;
            }
        }
        return next;
    }

    /** Returns the least number of pieces begun by a line of a rank, from which a new line starts. */
    private long leastBegun(int rank) {
        long least = Long.MAX_VALUE;
        for (Line each : waiting) {
            if (each.rank == rank) {
                least = Math.min(least, each.begun);
            }
        }
        return least == Long.MAX_VALUE ? 0 : least;
    }

    /** Pieces that wait, of one stage of one job. */
    public final class Line {
        private final int rank;
        private final long number;
        /** By the slots where they belong; after these, those that belong to none. */
        private final List<Deque<Piece>> homes = new ArrayList<>();

        private int count;
        /** Slots that it has. */
        private int running;
        /** Pieces that it has begun, and those that others of its rank had begun before it came to wait. */
        private long begun;

        private Line(int rank, long number) {
            this.rank = rank;
            this.number = number;
            for (int i = 0; i <= slots.size(); i++) {
                homes.add(new ArrayDeque<>());
            }
        }

        private int rank() {
            return rank;
        }

        private long number() {
            return number;
        }

        /**
         * Adds something to be run; {@link #begin} lets it run.
         *
         * @param home the slot where it belongs, modulo their number, or {@link #ANYWHERE}; it runs at the place of that slot
         * @param name of its thread
         * @param body to run, given the number of its slot; it must not throw
         * @return its handle
         */
        public Piece add(int home, String name, IntConsumer body) {
            synchronized (Slots.this) {
                int at = home == ANYWHERE ? slots.size() : Math.floorMod(home, slots.size());
                Piece piece = new Piece(this, at, pieces++, name, body);
                homes.get(at).add(piece);
                if (count++ == 0) {
                    begun = Math.max(begun, leastBegun(rank));
                    waiting.add(this);
                }
                return piece;
            }
        }

        /** Begins added pieces, as far as slots are free. */
        public void begin() {
            synchronized (Slots.this) {
                fill();
            }
        }

        private boolean mayRunAt(int place) {
            if (places == 1 || !homes.get(slots.size()).isEmpty()) {
                return true;
            }
            for (int slot = place * perPlace; slot < (place + 1) * perPlace; slot++) {
                if (!homes.get(slot).isEmpty()) {
                    return true;
                }
            }
            return false;
        }

        private boolean hasFor(int slot) {
            return !homes.get(slot).isEmpty() || !homes.get(slots.size()).isEmpty();
        }

        private Piece take(int slot) {
            Piece mine = homes.get(slot).peekFirst();
            Piece anyones = homes.get(slots.size()).peekFirst();
            Piece next;
            if (mine == null && anyones == null) {
                next = longest(placeOf(slot)).peekLast();
            } else if (mine == null || anyones != null && anyones.number < mine.number) {
                next = anyones;
            } else {
                next = mine;
            }
            remove(next);
            return next;
        }

        private Deque<Piece> longest(int place) {
            List<Deque<Piece>> there = homes.subList(place * perPlace, (place + 1) * perPlace);
            Deque<Piece> longest = there.get(0);
            for (Deque<Piece> each : there) {
                if (each.size() > longest.size()) {
                    longest = each;
                }
            }
            return longest;
        }

        private boolean remove(Piece piece) {
            Deque<Piece> home = homes.get(piece.home);
            boolean there = home.peekFirst() == piece ? home.pollFirst() != null : home.removeLastOccurrence(piece);
            if (there && --count == 0) {
                waiting.remove(this);
            }
            return there;
        }
    }

    /** One piece at a time. */
    private final class Slot {
        private final int number;
        private Piece piece;
        private Worker worker;

        Slot(int number) {
            this.number = number;
        }

        /** Is free from now on. */
        void end() {
            piece.line.running--;
            piece = null;
        }

        void begin(Piece next) {
            piece = next;
            next.slot = this;
            next.line.running++;
            next.line.begun++;
            if (worker == null) {
                worker = new Worker(this);
                worker.thread.start();
            } else {
                Slots.this.notifyAll();
            }
        }
    }

    /** The thread of a slot. */
    private final class Worker {
        private final Slot slot;
        private final ClassLoader classes = Slots.class.getClassLoader();
        private final long born = System.nanoTime();
        private final Thread thread = new Thread(this::work);

        Worker(Slot slot) {
            this.slot = slot;
            thread.setDaemon(true);
        }

        private void work() {
            for (Piece piece = first(); piece != null; piece = after(piece)) {
                thread.setName(piece.name + " in slot " + slot.number);
                try {
                    piece.body.accept(slot.number);
                } catch (RuntimeException | Error e) {
                    LOG.error("{} threw, which it must not; its slot continues", piece.name, e);
                }
                thread.setContextClassLoader(classes);
            }
        }

        private Piece first() {
            synchronized (Slots.this) {
                return run(slot.piece);
            }
        }

        private Piece run(Piece piece) {
            piece.thread = thread;
            return piece;
        }

        /** The next piece; null if the thread is to end. */
        private Piece after(Piece done) {
            synchronized (Slots.this) {
                done.thread = null;
                Thread.interrupted();
                if (slot.worker != this) {
                    return null;
                }
                slot.end();
                if (System.nanoTime() - born > OLD_NANOS && next(slot.number) != done.line) {
                    slot.worker = null;
                    fill();
                    return null;
                }
                fill();
                return await() ? run(slot.piece) : null;
            }
        }

        private boolean await() {
            long end = System.currentTimeMillis() + IDLE_MILLIS;
            for (long left = IDLE_MILLIS; slot.piece == null && left > 0; left = end - System.currentTimeMillis()) {
                try {
                    Slots.this.wait(left);
                } catch (InterruptedException e) {
                    // Nobody but a program that is over asks for it.
                    Thread.interrupted();
                }
            }
            if (slot.piece == null) {
                slot.worker = null;
            }
            return slot.piece != null;
        }
    }

    /** Something that was handed in. */
    public final class Piece {
        private final Line line;
        private final int home;
        private final long number;
        private final String name;
        private final IntConsumer body;
        private Slot slot;
        private Thread thread;

        private Piece(Line line, int home, long number, String name, IntConsumer body) {
            this.line = line;
            this.home = home;
            this.number = number;
            this.name = name;
            this.body = body;
        }

        /** Gives the slot to others, whether the body has returned or not. */
        public void leave() {
            synchronized (Slots.this) {
                if (slot != null && slot.piece == this) {
                    slot.end();
                    slot.worker = null;
                    fill();
                }
            }
        }

        /**
         * Takes back a piece that has not begun.
         *
         * @return false if it has begun
         */
        public boolean leaveQueue() {
            synchronized (Slots.this) {
                return slot == null && line.remove(this);
            }
        }

        /** Interrupts the body, if it runs. */
        public void interrupt() {
            synchronized (Slots.this) {
                if (thread != null) {
                    thread.interrupt();
                }
            }
        }
    }
}
