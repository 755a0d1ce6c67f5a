package org.tegula.hadoop.task;

import java.io.IOException;
import java.io.InterruptedIOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.tegula.hadoop.cache.CachedOutput;

/** Writes a sequence file beside a task's own output, for either interface, and keeps its pairs. Threads may share it. */
final class SideWriter extends RecordWriter<Object, Object>
        implements org.apache.hadoop.mapred.RecordWriter<Object, Object> {
    private final Attempt attempt;
    private final RecordWriter<Object, Object> real;
    /** Null if the real writer keeps the pairs, or nobody does. */
    private final CachedOutput copy;

    private SideWriter(Attempt attempt, RecordWriter<Object, Object> real, CachedOutput copy) {
        this.attempt = attempt;
        this.real = real;
        this.copy = copy;
    }

    /** Over a file that stays in memory as its pairs. */
    static SideWriter of(Attempt attempt, PairsRecordWriter pairs) {
        return new SideWriter(attempt, pairs, null);
    }

    /** Over the writer of the format itself. */
    static SideWriter of(Attempt attempt, Path file, RecordWriter<Object, Object> real) throws IOException {
        return new SideWriter(attempt, real, attempt.copyOf(file));
    }

    /** A writer of the {@code mapred} interface, as one of the other. */
    static RecordWriter<Object, Object> adapted(org.apache.hadoop.mapred.RecordWriter<Object, Object> old) {
        return new RecordWriter<>() {
            @Override
            public void write(Object key, Object value) throws IOException {
                old.write(key, value);
            }

            @Override
            public void close(TaskAttemptContext none) throws IOException {
                old.close(Reporter.NULL);
            }
        };
    }

    @Override
    public synchronized void write(Object key, Object value) throws IOException {
        try {
            if (real instanceof PairsRecordWriter) {
                real.write(attempt.kept(key), attempt.kept(value));
            } else {
                real.write(key, value);
            }
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
        if (copy != null) {
            copy.add(attempt.kept(key), attempt.kept(value));
        }
    }

    @Override
    public synchronized void close(TaskAttemptContext context) throws IOException {
        try {
            real.close(context);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
        if (copy != null) {
            copy.finish();
        }
    }

    @Override
    public void close(Reporter reporter) throws IOException {
        close((TaskAttemptContext) null);
    }

    private static IOException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return (IOException) new InterruptedIOException("The task was stopped").initCause(e);
    }
}
