package org.tegula.hadoop.job;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskID;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tegula.hadoop.engine.Slots;
import org.tegula.hadoop.task.AttemptHandle;

/** Which attempts of a task commit. */
@Timeout(30)
class StageTest {
    private static final long GRACE_MILLIS = 50;

    private final TaskState task = new TaskState(new TaskID("job", 1, TaskType.REDUCE, 0), 0);
    private final Set<Integer> commits = ConcurrentHashMap.newKeySet();
    private final CountDownLatch busy = new CountDownLatch(1);
    private final CountDownLatch enough = new CountDownLatch(1);
    private final CountDownLatch refused = new CountDownLatch(1);
    private final Stage stage = new Stage(
            List.of(task), new StageRules(1, 0, 1, 0, 1000), GRACE_MILLIS, new Slots(2).line(0), new OneTask());
    private boolean commitsFirst;

    /** The first attempt does not hear that it is told to stop, while it commits or before. */
    private final class OneTask implements Stage.Work {
        @Override
        public int home(TaskState of) {
            return Slots.ANYWHERE;
        }

        @Override
        public AttemptHandle attempt(TaskState of, TaskAttemptID id, int slot) {
            return new Silent(id);
        }

        @Override
        public void run(AttemptHandle attempt) {
            boolean first = attempt.id().getId() == 0;
            if (first && !commitsFirst) {
                ignoreStops();
            }
            if (!stage.mayCommit(attempt.id())) {
                refused.countDown();
                throw new IllegalStateException("not waited for");
            }
            commits.add(attempt.id().getId());
            if (first && commitsFirst) {
                ignoreStops();
            }
        }

        private void ignoreStops() {
            busy.countDown();
            while (enough.getCount() > 0) {
                Thread.onSpinWait();
            }
            Thread.interrupted();
        }

        @Override
        public void succeeded(TaskState of, AttemptHandle attempt) {}

        @Override
        public void discard(AttemptHandle attempt) {}

        @Override
        public void ended(TaskState of, TaskAttemptID attempt, TaskCompletionEvent.Status status) {}
    }

    private record Silent(TaskAttemptID id) implements AttemptHandle {
        @Override
        public void run() {}

        @Override
        public void stop() {}

        @Override
        public long silentNanos() {
            return 0;
        }

        @Override
        public void ask() {}

        @Override
        public Counters counters() {
            return new Counters();
        }

        @Override
        public String status() {
            return "";
        }

        @Override
        public float lastProgress() {
            return 0;
        }
    }

    /** Kills the first attempt when it does not hear it. */
    private Thread killTheFirst() {
        Thread kill = new Thread(() -> {
            try {
                busy.await();
                stage.end(new TaskAttemptID(task.id(), 0), false);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        kill.start();
        return kill;
    }

    @Test
    void aKilledAttemptThatCommitsIsWaitedFor() throws Exception {
        commitsFirst = true;
        Thread kill = killTheFirst();
        new Thread(() -> {
                    try {
                        kill.join();
                        Thread.sleep(6 * GRACE_MILLIS);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    enough.countDown();
                })
                .start();
        stage.run();
        assertEquals(Set.of(0), commits);
    }

    @Test
    void aKilledAttemptThatDidNotYetCommitDoesSoNoMore() throws Exception {
        killTheFirst();
        stage.run();
        assertEquals(Set.of(1), commits);
        enough.countDown();
        refused.await();
        assertEquals(Set.of(1), commits);
    }
}
