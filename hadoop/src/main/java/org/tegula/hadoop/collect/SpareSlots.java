package org.tegula.hadoop.collect;

/** Slots of the engine that no task needs at the moment. */
@FunctionalInterface
public interface SpareSlots {
    /** Where there are none. */
    SpareSlots NONE = work -> false;

    /**
     * Runs something in one of them, in the thread of the slot. It is to take milliseconds or seconds, and must not run
     * code of a program, which may never return.
     *
     * @param work to run; it must not throw
     * @return false if there is no such slot; then it is not run
     */
    boolean begin(Runnable work);
}
