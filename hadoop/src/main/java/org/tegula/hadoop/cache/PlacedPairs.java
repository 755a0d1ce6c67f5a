package org.tegula.hadoop.cache;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;

/** The pairs of a file that are in the memory of another JVM: here are their size and their slot. */
public final class PlacedPairs extends SequencePairs {
    private final long length;
    private final Source source;

    /** The place that has them. */
    public interface Source {
        /**
         * Identifies the pairs among all of the engine's places.
         *
         * @return their name
         */
        String id();

        /**
         * Writes the file's bytes.
         *
         * @param out takes them, and is left open
         * @throws IOException if the place is lost, and the file with it
         */
        void writeTo(OutputStream out) throws IOException;

        /** Gives the pairs up. */
        void release();
    }

    /**
     * Pairs elsewhere.
     *
     * @param length of the file
     * @param home the slot where they were made
     * @param source the place that has them
     * @param conf of the engine
     */
    public PlacedPairs(long length, int home, Source source, Configuration conf) {
        super(null, conf, home);
        this.length = length;
        this.source = source;
    }

    /**
     * The place that has them.
     *
     * @return the source itself
     */
    public Source source() {
        return source;
    }

    @Override
    public long length() {
        return length;
    }

    /** Tasks of this JVM read the file's bytes. */
    @Override
    public PairBlock find(long start, long bytes, Configuration conf) {
        return null;
    }

    @Override
    PairBlock all() {
        throw new UnsupportedOperationException("The pairs are in another JVM");
    }

    @Override
    PairBlock part(SequenceLayout.Part part) {
        throw new UnsupportedOperationException("The pairs are in another JVM");
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        source.writeTo(out);
    }

    @Override
    public void release() {
        source.release();
    }
}
