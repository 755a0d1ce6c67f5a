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
    private int next = ValueChains.NONE;

    /**
     * @param entries numbers of keys, of which those from one rank to another are meant
     * @param newest the newest link of each, in the same order
     */
    ChainedGroups(KeyTable table, ValueChains<?> chains, int[] entries, int[] newest, int from, int to) {
        this.table = table;
        this.chains = chains;
        this.entries = entries;
        this.newest = newest;
        this.rank = from;
        this.end = to;
    }

    /** The key of the present group, or -1 before the first. */
    int entry() {
        return entry;
    }

    @Override
    public boolean nextGroup() {
        if (rank == end) {
            return false;
        }
        entry = entries[rank++];
        seek(ValueChains.NONE);
        return true;
    }

    @Override
    public boolean nextPair() {
        if (next == ValueChains.NONE) {
            return false;
        }
        link = next;
        next = chains.before(link);
        return true;
    }

    @Override
    public boolean hasPair() {
        return next != ValueChains.NONE;
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
    public int position() {
        return link;
    }

    @Override
    public void seek(int position) {
        link = position;
        next = position == ValueChains.NONE ? newest[rank - 1] : chains.before(position);
    }
}
