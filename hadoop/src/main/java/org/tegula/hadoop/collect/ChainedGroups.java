package org.tegula.hadoop.collect;

import org.tegula.hadoop.combine.BytesIn;
import org.tegula.hadoop.combine.Groups;

/** Some keys of a table with their waiting values, as groups for a combiner. */
final class ChainedGroups implements Groups {
    private final KeyTable table;
    private final ValueChains<?> chains;
    private final int[] entries;
    private final int[] newest;
    private final int end;
    private int rank;
    private int entry = ValueChains.NONE;
    private int link = ValueChains.NONE;
    /** How often the value of the link is still to come, and the link after it. */
    private int left;

    private int next = ValueChains.NONE;
    private final boolean silenceEnds;
    private boolean heard = true;

    /**
     * @param entries numbers of keys; the groups are those from one rank to another
     * @param newest the newest link of each, in the same order
     * @param silenceEnds whether there are no more groups once one was read and nothing was heard
     */
    ChainedGroups(
            KeyTable table, ValueChains<?> chains, int[] entries, int[] newest, int from, int to, boolean silenceEnds) {
        this.table = table;
        this.chains = chains;
        this.entries = entries;
        this.newest = newest;
        this.rank = from;
        this.end = to;
        this.silenceEnds = silenceEnds;
    }

    /** Notes that something came of the present group. */
    void hear() {
        heard = true;
    }

    /** Whether silence has ended the groups, or their reader did not go to the end. */
    boolean wasSilent() {
        return silenceEnds && !(heard && rank == end);
    }

    /** The key of the present group, or -1 before the first. */
    int entry() {
        return entry;
    }

    @Override
    public boolean nextGroup() {
        if (rank == end || silenceEnds && !heard) {
            return false;
        }
        heard = false;
        entry = entries[rank];
        link = ValueChains.NONE;
        left = 0;
        next = newest[rank++];
        return true;
    }

    @Override
    public boolean nextPair() {
        if (left > 0) {
            left--;
            return true;
        }
        if (next == ValueChains.NONE) {
            return false;
        }
        link = next;
        left = chains.times(link) - 1;
        next = chains.before(link);
        return true;
    }

    @Override
    public boolean hasPair() {
        return left > 0 || next != ValueChains.NONE;
    }

    @Override
    public void key(BytesIn buffer) {
        buffer.reset(table.keys().bytes(), table.keyStart(entry), table.keyLength(entry));
    }

    @Override
    public void value(BytesIn buffer) {
        buffer.reset(chains.bytes(), chains.valueStart(link), chains.valueLength(link));
    }

    @Override
    public boolean sameKeys() {
        return true;
    }

    @Override
    public long position() {
        return (long) link << 32 | left;
    }

    @Override
    public void seek(long position) {
        link = (int) (position >> 32);
        left = (int) position;
        next = link == ValueChains.NONE ? newest[rank - 1] : chains.before(link);
    }
}
