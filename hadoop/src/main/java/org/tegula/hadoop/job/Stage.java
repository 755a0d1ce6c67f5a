package org.tegula.hadoop.job;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.util.StringUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.engine.Slots;
import org.tegula.hadoop.place.PlaceLost;
import org.tegula.hadoop.task.AttemptHandle;

/**
 * All tasks of one kind of a job: each is tried until it succeeds or has failed as often as it may. An attempt that was told to
 * stop, or gives no sign of life, and does not return is abandoned; its later results are ignored. One that commits is not: it
 * could not be kept from that any more, and its task must not commit twice.
 */
final class Stage {
    private static final Logger LOG = LoggerFactory.getLogger(Stage.class);
    static final long GRACE_MILLIS = 5000;

    private final StageRules rules;
    private final long graceMillis;
    private final Slots.Line line;
    private final Work work;
    private final List<TaskState> tasks;
    private final Deque<TaskState> pending;
    private final Map<TaskState, Running> running = new HashMap<>();
    private int tolerated;
    private TaskFailure failure;
    private boolean stopped;

    /** The work of the stage, and the receiver of its results. */
    interface Work {
        /** The slot where a task belongs, or {@link Slots#ANYWHERE}. */
        int home(TaskState task);

        /** A new attempt, which runs in a slot; it may fail. */
        AttemptHandle attempt(TaskState task, TaskAttemptID id, int slot) throws Exception;

        /** Runs an attempt as the job's user, with the job's classes. */
        void run(AttemptHandle attempt) throws Exception;

        /** Takes the result of a task. */
        void succeeded(TaskState task, AttemptHandle attempt);

        /** Takes back the result of an attempt that nobody waits for any more. */
        void discard(AttemptHandle attempt);

        /** Notes that an attempt has ended. */
        void ended(TaskState task, TaskAttemptID attempt, TaskCompletionEvent.Status status);
    }

    Stage(List<TaskState> tasks, StageRules rules, Slots.Line line, Work work) {
        this(tasks, rules, GRACE_MILLIS, line, work);
    }

    /**
     * @param graceMillis for how long an attempt that was told to stop is waited for
     */
    Stage(List<TaskState> tasks, StageRules rules, long graceMillis, Slots.Line line, Work work) {
        this.tasks = tasks;
        this.rules = rules;
        this.graceMillis = graceMillis;
        this.line = line;
        this.work = work;
        this.pending = new ArrayDeque<>(tasks);
    }

    /** Runs all tasks; at the end no attempt runs that could still do harm. */
    synchronized void run() throws TaskFailure, InterruptedException {
        long look = System.currentTimeMillis() + rules.lookMillis();
        try {
            while (failure == null && !stopped && !(pending.isEmpty() && running.isEmpty())) {
                while (!pending.isEmpty() && running.size() < rules.atOnce()) {
                    start(pending.remove());
                }
                line.begin();
                wait(Math.max(1, Math.min(look, firstToLeave()) - System.currentTimeMillis()));
                leaveStopped();
                if (System.currentTimeMillis() >= look) {
                    endSilent();
                    look = System.currentTimeMillis() + rules.lookMillis();
                }
            }
        } finally {
            stopAll();
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Lets {@link #run} end soon. */
    synchronized void stop() {
        stopped = true;
        notifyAll();
    }

    /** Lets {@link #run} fail soon: a place has lost what its tasks had there. */
    synchronized void fail(PlaceLost loss) {
        if (failure == null) {
            failure = new TaskFailure(loss.getMessage(), loss);
            notifyAll();
        }
    }

    /** Ends one attempt, which may still wait for a slot; its task is tried again. As a failure it counts against the task. */
    synchronized boolean end(TaskAttemptID id, boolean asFailure) {
        for (Running each : running.values()) {
            if (each.id.equals(id)) {
                each.verdict = asFailure ? "The attempt was failed by request" : null;
                each.killed = !asFailure;
                each.stop();
                notifyAll();
                return true;
            }
        }
        return false;
    }

    /** Lets an attempt commit, if it is still wanted; from then on nobody takes its place until it has returned. */
    synchronized boolean mayCommit(TaskAttemptID id) {
        for (Running each : running.values()) {
            if (each.id.equals(id)) {
                each.commits |= !each.ending && !stopped && failure == null;
                return each.commits;
            }
        }
        return false;
    }

    private void start(TaskState task) {
        Running attempt = new Running(task, task.nextAttempt());
        running.put(task, attempt);
        attempt.piece = line.add(work.home(task), attempt.id.toString(), attempt::run);
    }

    private long firstToLeave() {
        return running.values().stream()
                .filter(each -> !each.commits)
                .mapToLong(each -> each.leaveMillis)
                .min()
                .orElse(Long.MAX_VALUE);
    }

    private void leaveStopped() {
        for (Running each : new ArrayList<>(running.values())) {
            if (each.attempt != null && !each.commits && each.leaveMillis <= System.currentTimeMillis()) {
                each.leave();
                failed(each, null);
            }
        }
    }

    private void endSilent() {
        if (rules.timeoutMillis() == 0) {
            return;
        }
        for (Running each : new ArrayList<>(running.values())) {
            if (each.attempt != null
                    && TimeUnit.NANOSECONDS.toMillis(each.attempt.silentNanos()) > rules.timeoutMillis()) {
                endSilent(each);
            }
        }
    }

    private void endSilent(Running each) {
        if (each.commits && each.ending) {
            return; // it was told already
        }
        each.stop();
        each.verdict = each.id + " failed to report status for " + rules.timeoutMillis() / 1000 + " seconds"
                + each.attempt.where();
        if (!each.commits) {
            each.piece.leave();
            failed(each, null);
        }
    }

    private void stopAll() throws InterruptedException {
        new ArrayList<>(running.values()).forEach(Running::stop);
        long end = System.currentTimeMillis() + graceMillis;
        while (!running.isEmpty() && System.currentTimeMillis() < end) {
            wait(Math.max(1, end - System.currentTimeMillis()));
        }
        for (Running each : running.values()) {
            each.leave();
            each.task.kill();
        }
        running.clear();
        notifyAll();
    }

    /** False if nobody waits for the attempt any more. */
    private synchronized boolean begun(Running each, AttemptHandle made) {
        each.attempt = made;
        if (running.get(each.task) != each) {
            return false;
        }
        each.task.begin(made);
        if (each.ending) {
            made.stop();
        }
        return true;
    }

    private synchronized void succeeded(Running each) {
        if (running.remove(each.task, each)) {
            each.task.succeed();
            work.succeeded(each.task, each.attempt);
            work.ended(each.task, each.id, TaskCompletionEvent.Status.SUCCEEDED);
            notifyAll();
        } else {
            work.discard(each.attempt);
        }
    }

    private synchronized void failed(Running each, Throwable cause) {
        if (!running.remove(each.task, each)) {
            return;
        }
        if (each.killed || stopped || failure != null) {
            each.task.kill();
            if (each.killed || each.attempt != null) { // attempts that wait at the job's end were never tried
                work.ended(each.task, each.id, TaskCompletionEvent.Status.KILLED);
            }
            if (each.killed) {
                pending.add(each.task);
            }
        } else if (cause instanceof PlaceLost loss) {
            each.task.kill();
            work.ended(each.task, each.id, TaskCompletionEvent.Status.KILLED);
            fail(loss);
        } else {
            countFailure(each, cause);
        }
        notifyAll();
    }

    private void countFailure(Running each, Throwable cause) {
        String diagnosis = each.verdict != null || cause == null
                ? each.verdict
                : "Error: " + StringUtils.stringifyException(cause);
        LOG.warn("{} failed: {}", each.id, diagnosis);
        int failures = each.task.fail(diagnosis);
        boolean last = failures >= rules.maxAttempts();
        work.ended(each.task, each.id, last ? TaskCompletionEvent.Status.TIPFAILED : TaskCompletionEvent.Status.FAILED);
        if (!last) {
            pending.addFirst(each.task);
        } else if (++tolerated * 100L > (long) rules.maxFailedPercent() * tasks.size()) {
            failure = new TaskFailure("Task failed " + each.task.id() + "\n" + diagnosis, cause);
        }
    }

    /** An attempt that has a slot, or waits for one. */
    private final class Running {
        private final TaskState task;
        private final TaskAttemptID id;
        private Slots.Piece piece;
        private AttemptHandle attempt;
        private boolean ending;
        private boolean commits;
        /** When it is abandoned if it has not returned by then. */
        private long leaveMillis = Long.MAX_VALUE;

        private String verdict;
        private boolean killed;

        Running(TaskState task, TaskAttemptID id) {
            this.task = task;
            this.id = id;
        }

        void run(int slot) {
            try {
                AttemptHandle made = work.attempt(task, id, slot);
                if (begun(this, made)) {
                    work.run(made);
                }
                succeeded(this);
            } catch (Throwable e) {
                if (attempt != null) {
                    work.discard(attempt); // it may have failed after its work was done
                }
                failed(this, e);
            }
        }

        void leave() {
            LOG.warn("{} does not return and is abandoned; its thread continues until it does", id);
            piece.leave();
        }

        void stop() {
            if (!ending) {
                leaveMillis = System.currentTimeMillis() + graceMillis;
            }
            ending = true;
            if (attempt != null) {
                attempt.stop();
                piece.interrupt();
            } else if (piece.leaveQueue()) {
                failed(this, null);
            }
        }
    }
}
