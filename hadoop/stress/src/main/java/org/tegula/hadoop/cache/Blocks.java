package org.tegula.hadoop.cache;

import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.tegula.hadoop.live.KnownSize;
import org.tegula.hadoop.memory.Room;

/** Blocks of one pair, and what they are kept with. */
final class Blocks {
    static final FileVersion VERSION = new FileVersion(10, 20, "file", 30);
    static final FileVersion NEXT_VERSION = new FileVersion(10, 21, "file", 31);
    static final ReadSettings SETTINGS = new ReadSettings(Map.of(), Map.of());
    static final Configuration CONF = new Configuration(false);
    /** Room for one block, and not for two. */
    static final long ONE_BYTES = 1 << 10;

    static final int NOTHING = 0;
    static final int DAMAGED = -1;

    private Blocks() {}

    static BlockKey key(String name) {
        return new BlockKey("user", name, 0, 10, "format");
    }

    /** A block whose pair has a number; null if there is no room. */
    static PairBlock of(int number, Room room) {
        BlockWriter writer = BlockWriter.ofOutput(room, false, new KnownSize());
        writer.add(new IntWritable(number), new IntWritable(number));
        return writer.finish();
    }

    static void put(PairCache cache, BlockKey key, int number, FileVersion version) {
        PairBlock block = of(number, cache);
        if (block != null) {
            cache.put(key, block, version, SETTINGS, number);
        }
    }

    /** The number of the pair that is found. */
    static int find(PairCache cache, BlockKey key, FileVersion version) {
        return number(cache.find(key, version, CONF));
    }

    static int number(PairBlock block) {
        if (block == null) {
            return NOTHING;
        }
        try {
            BlockCursor at = block.open(CONF);
            if (!at.next()) {
                return DAMAGED;
            }
            int key = ((IntWritable) at.key(null)).get();
            int value = ((IntWritable) at.value(null)).get();
            return key == value && !at.next() ? key : DAMAGED;
        } catch (IOException e) {
            return DAMAGED;
        }
    }

    /** The bytes that are counted when nothing is kept any more. */
    static long leftOf(PairCache cache) {
        cache.clear();
        return cache.usedBytes();
    }
}
