package org.tegula.hadoop.place;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.tegula.hadoop.task.AttemptHandle;
import org.tegula.hadoop.task.FileCommit;

/** An attempt at a place in another JVM, as the driver sees it. */
final class RemoteAttempt implements AttemptHandle {
    private final RemotePlaceJob part;
    private final TaskAttemptID id;
    private final Op op;
    private final Body task;
    private volatile long heardNanos = System.nanoTime();
    private volatile AttemptFacts facts = new AttemptFacts(0, 0, "", new Counters());
    private volatile boolean stopped;
    private boolean isAnswered;
    private MapOutput output;

    RemoteAttempt(RemotePlaceJob part, TaskAttemptID id, Op op, Body task) {
        this.part = part;
        this.id = id;
        this.op = op;
        this.task = task;
    }

    @Override
    public TaskAttemptID id() {
        return id;
    }

    @Override
    public void run() throws Exception {
        part.prepare(op == Op.REDUCE);
        if (stopped) {
            throw new InterruptedException("The attempt was stopped before it began");
        }
        heardNanos = System.nanoTime();
        CompletableFuture<Message> call = part.send(this, op, task);
        if (stopped) {
            part.stop(this);
        }
        Message answer = await(call);
        part.takeNews(answer);
        hearLast(AttemptFacts.read(answer));
        boolean leavesCommit = answer.readBoolean();
        output = op == Op.MAP ? MapOutput.read(answer) : null;
        if (leavesCommit) {
            FileCommit.run(
                    part.conf(), id, any -> !stopped && part.mayCommit(this), () -> heardNanos = System.nanoTime());
        }
    }

    /** A place answers after it was told to stop, too; interrupts come with that. */
    private Message await(CompletableFuture<Message> call) throws Exception {
        while (true) {
            try {
                return call.get();
            } catch (InterruptedException e) {
                if (!stopped) {
                    stop();
                }
            } catch (ExecutionException e) {
                throw part.fault(e.getCause());
            }
        }
    }

    /** Takes a report of its place. One that another thread has read before the answer may come after it: it counts no more. */
    synchronized void hear(AttemptFacts now) {
        if (!isAnswered) {
            take(now);
        }
    }

    /** Takes what the place says with its answer. */
    synchronized void hearLast(AttemptFacts last) {
        isAnswered = true;
        take(last);
    }

    private void take(AttemptFacts now) {
        facts = now;
        heardNanos = Math.max(heardNanos, System.nanoTime() - now.silentNanos());
    }

    boolean isStopped() {
        return stopped;
    }

    MapOutput output() {
        return output;
    }

    @Override
    public void stop() {
        stopped = true;
        part.stop(this);
    }

    @Override
    public String where() {
        return " at " + part.placeName();
    }

    @Override
    public long silentNanos() {
        return System.nanoTime() - heardNanos;
    }

    /** Places report unasked. */
    @Override
    public void ask() {}

    @Override
    public Counters counters() {
        return facts.counters();
    }

    @Override
    public String status() {
        return facts.status();
    }

    @Override
    public float lastProgress() {
        return facts.progress();
    }
}
