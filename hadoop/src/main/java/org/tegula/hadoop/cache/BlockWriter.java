package org.tegula.hadoop.cache;

import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.memory.Chunks;
import org.tegula.hadoop.memory.Room;

/**
 * Copies pairs into a block while a task reads or writes them. It gives up, and says nothing to the task, if there is no
 * room, or if they are not all Writables of one class. Several threads of a mapper may share it.
 */
public final class BlockWriter {
    private static final Logger LOG = LoggerFactory.getLogger(BlockWriter.class);

    private final Chunks bytes;
    private final DataOutputStream out;
    private Class<?> keyType;
    private Class<?> valueType;
    private long pairs;
    private boolean open = true;

    /**
     * A block without pairs.
     *
     * @param room for it
     */
    public BlockWriter(Room room) {
        bytes = new Chunks(room);
        out = new DataOutputStream(bytes);
    }

    /**
     * Takes a pair; its objects may be changed afterwards.
     *
     * @param key the key
     * @param value the value
     */
    public synchronized void add(Object key, Object value) {
        if (!open) {
            return;
        }
        if (pairs == 0 && key != null && value != null) {
            keyType = key.getClass();
            valueType = value.getClass();
        }
        if (!(key instanceof Writable firstPart) || !(value instanceof Writable secondPart) || !isOfTypes(key, value)) {
            abandon();
            return;
        }
        try {
            firstPart.write(out);
            secondPart.write(out);
            pairs++;
        } catch (IOException | RuntimeException e) {
            LOG.debug("Pairs are not kept", e);
            abandon();
        }
    }

    private boolean isOfTypes(Object key, Object value) {
        return key.getClass() == keyType && value.getClass() == valueType;
    }

    /**
     * Ends the block.
     *
     * @return null if it was given up, or there are no pairs
     */
    public synchronized PairBlock finish() {
        if (!open || pairs == 0) {
            abandon();
            return null;
        }
        open = false;
        return new PairBlock(keyType.getName(), valueType.getName(), pairs, bytes);
    }

    /** Gives the block up, unless it has ended. */
    public synchronized void abandon() {
        if (open) {
            open = false;
            bytes.release();
        }
    }
}
