package org.tegula.hadoop.run;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.util.Progress;
import org.apache.hadoop.util.Progressable;

/**
 * One partition of all runs of a job, sorted by key, as a reducer's input. It streams: it holds a buffer for each run on disk,
 * and those are never more than {@link #FAN_IN}, because more are merged to longer ones first.
 */
public final class Merge implements RawKeyValueIterator, Closeable {
    /** The number of files that are read at once. */
    static final int FAN_IN = 64;

    private final MergeQueue queue;
    private final List<Run> merged;
    private final long totalBytes;
    private final DataInputBuffer key = new DataInputBuffer();
    private final DataInputBuffer value = new DataInputBuffer();
    private final Progress progress = new Progress();
    private long seenBytes;

    private Merge(MergeQueue queue, List<Run> merged, long totalBytes) {
        this.queue = queue;
        this.merged = merged;
        this.totalBytes = totalBytes;
    }

    /**
     * Begins to merge.
     *
     * @param runs in the order of their map tasks
     * @param partition whose records are wanted
     * @param comparator by which the runs are sorted
     * @param disk for runs that are merged to longer ones
     * @param alive is told of each record of these
     * @return the records, to be closed
     * @throws IOException if a run cannot be read
     */
    public static Merge open(
            List<Run> runs, int partition, RawComparator<?> comparator, SpillFiles disk, Progressable alive)
            throws IOException {
        List<Source> sources = new ArrayList<>();
        long bytes = 0;
        for (Run run : runs) {
            if (run.bytes(partition) > 0) {
                sources.add(new Source(run, partition));
                bytes += run.bytes(partition);
            }
        }
        sources.sort(Comparator.comparingLong(Source::wholeBytes));
        List<Run> merged = new ArrayList<>();
        try {
            shorten(sources, merged, comparator, disk, alive);
            return new Merge(new MergeQueue(open(sources), comparator), merged, bytes);
        } catch (Throwable e) {
            merged.forEach(Run::release);
            throw e;
        }
    }

    /** Merges the shortest of the runs on disk until few enough are left. */
    private static void shorten(
            List<Source> sources, List<Run> merged, RawComparator<?> comparator, SpillFiles disk, Progressable alive)
            throws IOException {
        List<Source> files =
                new ArrayList<>(sources.stream().filter(s -> s.run.onDisk()).toList());
        while (files.size() > FAN_IN) {
            List<Source> shortest = new ArrayList<>(files.subList(0, Math.min(FAN_IN, files.size() - FAN_IN + 1)));
            Run longer = join(shortest, comparator, disk, alive);
            merged.add(longer);
            Source source = new Source(longer, 0);
            files.removeAll(shortest);
            sources.removeAll(shortest);
            files.add(source);
            sources.add(source);
        }
    }

    private static Run join(List<Source> sources, RawComparator<?> comparator, SpillFiles disk, Progressable alive)
            throws IOException {
        try (MergeQueue queue = new MergeQueue(open(sources), comparator);
                RunWriter writer = RunWriter.onDisk(1, disk)) {
            for (RunCursor at = queue.advance(); at != null; at = queue.advance()) {
                alive.progress();
                writer.append(0, at.bytes, at.keyStart, at.keyLength, at.bytes, at.valueStart(), at.valueLength);
            }
            return writer.finish();
        }
    }

    private static List<RunCursor> open(List<Source> sources) throws IOException {
        List<RunCursor> cursors = new ArrayList<>();
        try {
            for (Source source : sources) {
                cursors.add(source.run.open(source.partition));
            }
        } catch (Throwable e) {
            IOUtils.closeStreams(cursors.toArray(Closeable[]::new));
            throw e;
        }
        return cursors;
    }

    @Override
    public boolean next() throws IOException {
        RunCursor at = queue.advance();
        if (at == null) {
            return false;
        }
        key.reset(at.bytes, at.keyStart, at.keyLength);
        value.reset(at.bytes, at.valueStart(), at.valueLength);
        seenBytes += RunWriter.recordBytes(at.keyLength, at.valueLength);
        return true;
    }

    @Override
    public DataInputBuffer getKey() {
        return key;
    }

    @Override
    public DataInputBuffer getValue() {
        return value;
    }

    @Override
    public Progress getProgress() {
        progress.set(fraction());
        return progress;
    }

    /**
     * How much was read.
     *
     * @return from 0 to 1
     */
    public float fraction() {
        return totalBytes == 0 ? 1 : (float) seenBytes / totalBytes;
    }

    /**
     * The size of all records of the partition.
     *
     * @return bytes
     */
    public long totalBytes() {
        return totalBytes;
    }

    @Override
    public void close() {
        queue.close();
        merged.forEach(Run::release);
    }

    private record Source(Run run, int partition) {
        long wholeBytes() {
            return run.wholeBytes(partition);
        }
    }
}
