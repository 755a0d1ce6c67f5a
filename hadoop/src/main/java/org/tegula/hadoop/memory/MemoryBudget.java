package org.tegula.hadoop.memory;

import java.util.concurrent.atomic.AtomicLong;

/** Counts the bytes that one purpose has on the heap, such as map output; refused bytes go to disk, or are not kept. */
public final class MemoryBudget implements Room {
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

    @Override
    public boolean reserve(long bytes) {
        // A refusal must not take room for a moment: others that fit would be refused, too.
        for (long used = usedBytes.get(); bytes <= limitBytes - used; used = usedBytes.get()) {
            if (usedBytes.compareAndSet(used, used + bytes)) {
                return true;
            }
        }
        return false;
    }

    @Override
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
     * Returns the reserved bytes.
     *
     * @return bytes
     */
    public long usedBytes() {
        return usedBytes.get();
    }
}
