package org.tegula.hadoop.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Room that does not overflow; that several ask for at once is tried by jcstress. */
class MemoryBudgetTest {
    @Test
    void moreThanALongHoldsIsRefused() {
        MemoryBudget budget = new MemoryBudget(10);
        assertTrue(budget.reserve(10));
        assertFalse(budget.reserve(Long.MAX_VALUE));
        assertEquals(10, budget.usedBytes());
        budget.release(10);
        assertTrue(budget.reserve(10));
    }
}
