package org.tegula.hadoop.memory;

import java.util.concurrent.atomic.AtomicLong;

/** The one place where bytes that map output keeps on the heap are counted; what is refused goes to disk. */
public final class MemoryBudget {
    private final long limitBytes;
    private final AtomicLong usedBytes = new AtomicLong();

    /**
     * A budget of its own.
     *
     * @param limitBytes how much may be reserved at once
     */
    public MemoryBudget(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /**
     * Takes bytes, if there is room for all of them.
     *
     * @param bytes how many
     * @return whether they were taken
     */
    public boolean reserve(long bytes) {
        if (usedBytes.addAndGet(bytes) <= limitBytes) {
            return true;
        }
        usedBytes.addAndGet(-bytes);
        return false;
    }

    /**
     * Gives back what was reserved.
     *
     * @param bytes how many
     */
    public void release(long bytes) {
        usedBytes.addAndGet(-bytes);
    }

    /**
     * The size of the budget.
     *
     * @return bytes
     */
    public long limitBytes() {
        return limitBytes;
    }

    /**
     * What is reserved at this moment.
     *
     * @return bytes
     */
    public long usedBytes() {
        return usedBytes.get();
    }
}
