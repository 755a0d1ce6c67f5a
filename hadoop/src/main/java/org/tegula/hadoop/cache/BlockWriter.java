package org.tegula.hadoop.cache;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.live.KnownSize;
import org.tegula.hadoop.memory.Room;

/**
 * Puts pairs into a block while a task reads or writes them. It gives up, and says nothing to the task, if there is no
 * room, or if they are not all Writables of one class. Several threads of a mapper may share it.
 */
abstract class BlockWriter {
    private static final Logger LOG = LoggerFactory.getLogger(BlockWriter.class);

    private Class<?> keyType;
    private Class<?> valueType;
    private long pairs;
    private boolean open = true;

    /**
     * A block without pairs, for those that a task writes.
     *
     * @param room for it
     * @param promised whether nobody changes the objects any more: then they are kept as they are
     * @param known the sizes of objects that the task was handed
     */
    static BlockWriter ofOutput(Room room, boolean promised, KnownSize known) {
        return promised ? new LiveBlockWriter(room, known, null) : new BytesBlockWriter(room, null);
    }

    /**
     * A block without pairs, for those that a task reads: their bytes in the file are not known, so objects that write
     * themselves differently are not kept.
     *
     * @param room for it
     * @param promised whether nobody changes the objects any more: then they are kept as they are
     * @param known the sizes of objects that the task was handed
     * @param conf of the task
     */
    static BlockWriter ofInput(Room room, boolean promised, KnownSize known, Configuration conf) {
        RoundTrip check = new RoundTrip(conf);
        return promised ? new LiveBlockWriter(room, known, check) : new BytesBlockWriter(room, check);
    }

    final synchronized void add(Object key, Object value) {
        if (!open) {
            return;
        }
        if (pairs == 0 && key != null && value != null) {
            keyType = key.getClass();
            valueType = value.getClass();
        }
        if (!(key instanceof Writable first) || !(value instanceof Writable second) || !isOfTypes(key, value)) {
            abandon();
            return;
        }
        try {
            write(first, second);
            pairs++;
        } catch (IOException | RuntimeException e) {
            LOG.debug("Pairs are not kept", e);
            abandon();
        }
    }

    private boolean isOfTypes(Object key, Object value) {
        return key.getClass() == keyType && value.getClass() == valueType;
    }

    /** Ends the block; null if it was given up, or there are no pairs. */
    final synchronized PairBlock finish() {
        if (!open || pairs == 0) {
            abandon();
            return null;
        }
        open = false;
        return block(keyType, valueType, pairs);
    }

    /** Gives the block up, unless it has ended. */
    final synchronized void abandon() {
        if (open) {
            open = false;
            release();
        }
    }

    /** Takes a pair, or throws if there is no room. */
    abstract void write(Writable key, Writable value) throws IOException;

    abstract PairBlock block(Class<?> keyType, Class<?> valueType, long pairs);

    abstract void release();
}
