package org.tegula.hadoop.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tegula.hadoop.memory.MemoryBudget;

/** The room of an object is taken once and given back once, for any number of holders. */
class SharedRoomTest {
    private final MemoryBudget memory = new MemoryBudget(1000);

    @Test
    void isGivenBackByTheLastWhoLetsGo() {
        SharedRoom room = SharedRoom.reserve(memory, 600);
        assertTrue(room.hold(memory));
        assertEquals(600, memory.usedBytes());
        room.letGo();
        assertEquals(600, memory.usedBytes());
        room.letGo();
        assertEquals(0, memory.usedBytes());
        assertFalse(room.hold(memory), "nobody has it");
        assertEquals(0, memory.usedBytes());
    }

    @Test
    void isOfOneBudgetAndWithinIt() {
        SharedRoom room = SharedRoom.reserve(memory, 600);
        assertFalse(room.hold(new MemoryBudget(1000)));
        assertNull(SharedRoom.reserve(memory, 600));
        room.letGo();
        assertEquals(0, memory.usedBytes());
    }

    @Test
    void countsThoseThatComeAndGoAtOnce() throws Exception {
        SharedRoom room = SharedRoom.reserve(memory, 600);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                for (int round = 0; round < 20_000; round++) {
                    if (room.hold(memory)) {
                        room.letGo();
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        room.letGo();
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, memory.usedBytes());
    }
}
