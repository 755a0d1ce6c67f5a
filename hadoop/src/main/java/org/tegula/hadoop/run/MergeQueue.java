package org.tegula.hadoop.run;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.util.PriorityQueue;

/**
 * Records of many sorted runs as one, sorted.
 *
 * <p>Hadoop does not promise an order of equal keys, but programs rely on the one that its heap gives. It is the same heap
 * here, so that output is the same to the byte.
 */
final class MergeQueue extends PriorityQueue<RunCursor> implements Closeable {
    private final List<RunCursor> cursors;
    private final RawComparator<?> comparator;
    private final KeyPrefix prefix;
    private RunCursor current;

    /**
     * @param cursors before their first records; the order decides between equal keys. They are closed if one cannot be read
     */
    MergeQueue(List<RunCursor> cursors, RawComparator<?> comparator) throws IOException {
        this.cursors = cursors;
        this.comparator = comparator;
        this.prefix = KeyPrefix.of(comparator);
        initialize(cursors.size());
        try {
            for (RunCursor cursor : cursors) {
                if (step(cursor)) {
                    put(cursor);
                }
            }
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    private boolean step(RunCursor cursor) throws IOException {
        if (!cursor.next()) {
            return false;
        }
        cursor.prefix = prefix.of(cursor.bytes, cursor.keyStart, cursor.keyLength);
        return true;
    }

    /** Advances to the next record and returns its cursor; null after the last. */
    RunCursor advance() throws IOException {
        if (current != null) {
            if (step(current)) {
                adjustTop();
            } else {
                pop();
                current.close();
            }
        }
        current = top();
        if (current != null) {
            current.load();
        }
        return current;
    }

    @Override
    protected boolean lessThan(Object left, Object right) {
        RunCursor a = (RunCursor) left;
        RunCursor b = (RunCursor) right;
        if (a.prefix != b.prefix) {
            return Long.compareUnsigned(a.prefix, b.prefix) < 0;
        }
        return comparator.compare(a.bytes, a.keyStart, a.keyLength, b.bytes, b.keyStart, b.keyLength) < 0;
    }

    @Override
    public void close() {
        IOUtils.closeStreams(cursors.toArray(Closeable[]::new));
    }
}
