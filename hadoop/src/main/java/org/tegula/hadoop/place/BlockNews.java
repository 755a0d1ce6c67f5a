package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.Text;
import org.tegula.hadoop.cache.BlockKey;
import org.tegula.hadoop.cache.PairCache;

/** The pairs that the cache of a place has taken since this was last sent to the driver. */
final class BlockNews implements PairCache.Listener {
    private static final int MOST = 10_000;
    /** Of a block on its way: three texts, two places and a slot. */
    private static final int LEAST_BYTES = 3 + 2 * Long.BYTES + Integer.BYTES;

    private record Kept(BlockKey key, int home) {}

    private List<Kept> news = new ArrayList<>();

    /** What is more than fits is found by no later job, which reads the files then. */
    @Override
    public synchronized void kept(BlockKey key, int home) {
        if (news.size() < MOST) {
            news.add(new Kept(key, home));
        }
    }

    private synchronized List<Kept> take() {
        List<Kept> all = news;
        news = new ArrayList<>();
        return all;
    }

    void write(DataOutput out) throws IOException {
        List<Kept> all = take();
        out.writeInt(all.size());
        for (Kept each : all) {
            Text.writeString(out, each.key.user());
            Text.writeString(out, each.key.name());
            out.writeLong(each.key.start());
            out.writeLong(each.key.length());
            Text.writeString(out, each.key.format());
            out.writeInt(each.home);
        }
    }

    /** Tells the driver's cache. */
    static void read(Message in, PairCache cache) throws IOException {
        for (int left = in.count(LEAST_BYTES); left > 0; left--) {
            BlockKey key = new BlockKey(in.text(), in.text(), in.readLong(), in.readLong(), in.text());
            cache.keptElsewhere(key, in.readInt());
        }
    }
}
