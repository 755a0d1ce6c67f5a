package org.tegula.hadoop.cache;

import java.util.Arrays;
import org.apache.hadoop.io.SequenceFile;

/**
 * Where the records and marks of a sequence file without compression lie. Sizes of pairs say it all: the header and the
 * marks, which Hadoop draws for each file, have fixed lengths, and a mark comes before the first record that begins a
 * certain distance after the last one. So a file's length, and which records a split of it has, are known without its bytes.
 */
final class SequenceLayout {
    static final int MARK_BYTES = 16;
    /** The value before a sync marker, in the place of a record's length. */
    static final int ESCAPE = -1;

    static final int ESCAPED_MARK_BYTES = Integer.BYTES + MARK_BYTES;
    /** The lengths of the record and of its key. */
    static final int RECORD_HEAD_BYTES = 2 * Integer.BYTES;

    private final long headerBytes;
    private long lastMark;
    private long length;
    private int pairs;
    private long[] marks = new long[4];
    private int[] pairsBefore = new int[4];
    private int marked;

    /** Some of a file's pairs, by their numbers, and the place of their records and marks; ends are not included. */
    record Part(int firstPair, int endPair, long start, long end) {
        int pairs() {
            return endPair - firstPair;
        }
    }

    SequenceLayout(int headerBytes) {
        this.headerBytes = headerBytes;
        this.length = headerBytes;
    }

    /** Adds a pair of a size; returns whether there is a sync marker before it. */
    boolean add(int pairBytes) {
        boolean isMarked = length >= lastMark + SequenceFile.SYNC_INTERVAL;
        if (isMarked) {
            if (marked == marks.length) {
                marks = Arrays.copyOf(marks, 2 * marked);
                pairsBefore = Arrays.copyOf(pairsBefore, 2 * marked);
            }
            marks[marked] = length;
            pairsBefore[marked++] = pairs;
            length += ESCAPED_MARK_BYTES;
            lastMark = length;
        }
        length += RECORD_HEAD_BYTES + pairBytes;
        pairs = Math.addExact(pairs, 1);
        return isMarked;
    }

    long length() {
        return length;
    }

    Part all() {
        return new Part(0, pairs, headerBytes, length);
    }

    /**
     * The records that Hadoop's reader gives for a split: from the first mark in it, or the begin of the file, up to the
     * first mark beyond it. One that begins in the header has the begin of the file, unless it ends there, too.
     */
    Part part(long start, long splitBytes) {
        long end = splitBytes > length - start ? length : start + splitBytes;
        int last = markAt(end);
        int endPair = last == marked ? pairs : pairsBefore[last];
        long endPlace = last == marked ? length : marks[last];
        if (end <= headerBytes) {
            return new Part(0, 0, headerBytes, headerBytes);
        }
        if (start <= headerBytes) {
            return new Part(0, endPair, headerBytes, endPlace);
        }
        int first = markAt(start);
        return first >= last
                ? new Part(endPair, endPair, endPlace, endPlace)
                : new Part(pairsBefore[first], endPair, marks[first], endPlace);
    }

    /** The number of the first mark that is not before a place. */
    private int markAt(long place) {
        int found = Arrays.binarySearch(marks, 0, marked, place);
        return found >= 0 ? found : -found - 1;
    }
}
