package org.tegula.hadoop.task;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.Task;
import org.apache.hadoop.mapreduce.StatusReporter;

/**
 * The counters, progress and status of one attempt. It also tells the attempt to stop.
 *
 * <p>Every record is a sign of life, as on Hadoop, and costs no more than a write to memory: the time of a sign is known only
 * to the interval at which {@link #silentNanos} is called. Progress and counts of records are brought up to date with the next
 * record after a request for them.
 */
public final class TaskReporter extends StatusReporter implements Reporter {
    private final JobConf conf;
    private final Counters counters = new Counters();
    private volatile InputSplit split;
    private volatile DoubleSupplier position = () -> 0;
    private volatile float progress;
    private volatile String status = "";
    private final AtomicBoolean heard = new AtomicBoolean();
    private final AtomicInteger asks = new AtomicInteger();
    private long heardNanos = System.nanoTime();
    private volatile boolean stopped;
    /** The thread of the program's work, from its begin until it ends or was told that it is stopped. */
    private volatile Thread worker;

    /**
     * The reporter of an attempt that has done nothing yet.
     *
     * @param conf limits how long a status may be
     */
    public TaskReporter(JobConf conf) {
        this.conf = conf;
    }

    /** Asks the attempt to stop at its next record. */
    void stop() {
        stopped = true;
    }

    boolean isStopped() {
        return stopped;
    }

    /** Begins work in this thread: if it is asked to stop, its next sign of life ends it, but none in what it does then. */
    void begin() {
        worker = Thread.currentThread();
    }

    /** Ends work. */
    void end() {
        worker = null;
    }

    /** Takes a sign of life, and ends an attempt that was asked to stop. */
    void check() {
        if (stopped) {
            throw new AttemptStopped();
        }
        heard.setOpaque(true);
    }

    /** Asks for progress and counters as they are now. */
    public void ask() {
        asks.incrementAndGet();
    }

    /**
     * Returns the number of requests for counts.
     *
     * @return a number that changes when the task must write down its counts
     */
    public int asks() {
        return asks.getOpaque();
    }

    /**
     * All counters of the attempt, which go on counting.
     *
     * @return the counters themselves
     */
    public Counters counters() {
        return counters;
    }

    /**
     * How long the attempt has given no sign of life. A sign since the last call counts as one of this moment.
     *
     * @return nanoseconds
     */
    public synchronized long silentNanos() {
        long now = System.nanoTime();
        if (heard.getAndSet(false)) {
            heardNanos = now;
        }
        return now - heardNanos;
    }

    /**
     * Returns the status that the program set last.
     *
     * @return its words
     */
    public String status() {
        return status;
    }

    void setSplit(InputSplit split) {
        this.split = split;
    }

    /**
     * Tells where progress can be asked for.
     *
     * @param source a number from 0 to 1; it is asked in threads of the task alone
     */
    void setPosition(DoubleSupplier source) {
        position = source;
    }

    /** Looks how far the task is, for those who ask from outside. */
    void updateProgress() {
        progress = Math.max(0, Math.min(1, (float) position.getAsDouble()));
        progress();
    }

    /**
     * How far the task was when it last looked.
     *
     * @return from 0 to 1
     */
    public float lastProgress() {
        return progress;
    }

    /** Takes a sign of life. A program that only gives such signs is stopped by them, too. */
    @Override
    public void progress() {
        if (stopped && Thread.currentThread() == worker) {
            worker = null;
            throw new AttemptStopped();
        }
        heard.setOpaque(true);
    }

    @Override
    public float getProgress() {
        updateProgress();
        return progress;
    }

    @Override
    public void setStatus(String text) {
        status = Task.normalizeStatus(text, conf);
        progress();
    }

    @Override
    public Counters.Counter getCounter(Enum<?> name) {
        return ContextLoader.of(name.getDeclaringClass(), () -> counters.findCounter(name));
    }

    @Override
    public Counters.Counter getCounter(String group, String name) {
        return counters.findCounter(group, name);
    }

    @Override
    public void incrCounter(Enum<?> key, long amount) {
        counters.incrCounter(key, amount);
        progress();
    }

    @Override
    public void incrCounter(String group, String counter, long amount) {
        counters.incrCounter(group, counter, amount);
        progress();
    }

    @Override
    public InputSplit getInputSplit() {
        if (split == null) {
            throw new UnsupportedOperationException("Input only available on map");
        }
        return split;
    }
}
