package org.tegula.hadoop.run;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import java.util.zip.CheckedOutputStream;
import org.apache.hadoop.io.WritableUtils;
import org.tegula.hadoop.memory.Arena;
import org.tegula.hadoop.memory.MemoryBudget;

/** Writes a run: records come partition by partition, sorted. It is memory that is written if there is room, else a file. */
public final class RunWriter implements Closeable {
    private static final int PIECE_BYTES = 1 << 16;

    private final int partitions;
    private final MemoryBudget budget;
    /** Of the budget, for records in memory. */
    private final long reserved;

    private final Path file;
    private final Arena memory;
    private final CRC32C checksum = new CRC32C();
    private final DataOutputStream out;
    private final long[] starts;
    private final int[] checksums;
    private final long[] hidden;
    private final long[] records;
    private int partition;
    private long written;
    private boolean finished;

    private RunWriter(int partitions, MemoryBudget budget, long reserved, Arena memory, Path file) throws IOException {
        this.partitions = partitions;
        this.budget = budget;
        this.reserved = reserved;
        this.memory = memory;
        this.file = file;
        this.starts = new long[partitions + 1];
        this.checksums = new int[partitions];
        this.hidden = new long[partitions];
        this.records = new long[partitions];
        this.out = memory != null ? memory : toFile(file);
    }

    private DataOutputStream toFile(Path file) throws IOException {
        OutputStream raw = Files.newOutputStream(file);
        return new DataOutputStream(new BufferedOutputStream(new CheckedOutputStream(raw, checksum), 1 << 16));
    }

    /**
     * A run of a size that is known.
     *
     * @param bytes the size of all its records, by {@link #recordBytes}
     * @param partitions how many there are
     * @param memory that is asked for room
     * @param disk makes a file if there is none
     * @return a writer, to be closed
     * @throws IOException if the file cannot be made
     */
    public static RunWriter create(long bytes, int partitions, MemoryBudget memory, SpillFiles disk)
            throws IOException {
        if (bytes < Integer.MAX_VALUE / 2 && memory.reserve(bytes)) {
            return new RunWriter(partitions, memory, bytes, new Arena((int) bytes), null);
        }
        return new RunWriter(partitions, memory, 0, null, disk.create());
    }

    /**
     * A run on disk.
     *
     * @param partitions how many there are
     * @param disk makes the file
     * @return a writer, to be closed
     * @throws IOException if the file cannot be made
     */
    static RunWriter onDisk(int partitions, SpillFiles disk) throws IOException {
        return new RunWriter(partitions, null, 0, null, disk.create());
    }

    /**
     * The size of a record.
     *
     * @param keyLength bytes of its key
     * @param valueLength bytes of its value
     * @return bytes of both with their lengths
     */
    public static long recordBytes(int keyLength, int valueLength) {
        return (long) keyLength
                + valueLength
                + WritableUtils.getVIntSize(keyLength)
                + WritableUtils.getVIntSize(valueLength);
    }

    /**
     * Whether records go to disk.
     *
     * @return false if they stay in memory
     */
    public boolean onDisk() {
        return file != null;
    }

    /**
     * Adds a record after the others.
     *
     * @param to its partition, never lower than the one before
     * @param keyBytes where the key is
     * @param keyStart its first byte
     * @param keyLength its length
     * @param valueBytes where the value is
     * @param valueStart its first byte
     * @param valueLength its length
     * @throws IOException if the file cannot be written
     */
    public void append(
            int to, byte[] keyBytes, int keyStart, int keyLength, byte[] valueBytes, int valueStart, int valueLength)
            throws IOException {
        begin(to, keyLength, valueLength);
        out.write(keyBytes, keyStart, keyLength);
        out.write(valueBytes, valueStart, valueLength);
    }

    /**
     * Adds a record after the others, whose value need not be in memory as a whole.
     *
     * @param to its partition, never lower than the one before
     * @param key where the key is, from its first byte on
     * @param keyLength its length
     * @param value gives the value
     * @param valueLength its length
     * @throws IOException if the value cannot be read, or the file cannot be written
     */
    public void append(int to, byte[] key, int keyLength, DataInput value, int valueLength) throws IOException {
        begin(to, keyLength, valueLength);
        out.write(key, 0, keyLength);
        byte[] piece = new byte[Math.min(valueLength, PIECE_BYTES)];
        for (int left = valueLength; left > 0; ) {
            int length = Math.min(left, piece.length);
            value.readFully(piece, 0, length);
            out.write(piece, 0, length);
            left -= length;
        }
    }

    private void begin(int to, int keyLength, int valueLength) throws IOException {
        if (to != partition) {
            endPartitions(to);
        }
        if (memory != null) {
            memory.putVInt(keyLength);
            memory.putVInt(valueLength);
        } else {
            WritableUtils.writeVInt(out, keyLength);
            WritableUtils.writeVInt(out, valueLength);
        }
        written += recordBytes(keyLength, valueLength);
        records[partition]++;
    }

    /**
     * Notes that the value of the last record differs in size from that on Hadoop.
     *
     * @param keyLength of the record
     * @param valueLength its length here
     * @param wholeLength the size that it would have
     */
    public void addHidden(int keyLength, int valueLength, int wholeLength) {
        hidden[partition] += recordBytes(keyLength, wholeLength) - recordBytes(keyLength, valueLength);
    }

    private void endPartitions(int to) throws IOException {
        if (file != null) {
            out.flush();
        }
        while (partition < to) {
            checksums[partition] = (int) checksum.getValue();
            checksum.reset();
            starts[++partition] = written;
        }
    }

    /**
     * Ends the run.
     *
     * @return the run
     * @throws IOException if the file cannot be written
     */
    public Run finish() throws IOException {
        endPartitions(partitions);
        out.close();
        finished = true;
        if (file != null) {
            return new FileRun(file, starts, checksums, hidden, records);
        }
        int[] places = new int[partitions + 1];
        for (int i = 0; i <= partitions; i++) {
            places[i] = (int) starts[i];
        }
        return new MemoryRun(memory.bytes(), places, hidden, records, budget, reserved);
    }

    /** Takes back a run that was not finished. */
    @Override
    public void close() throws IOException {
        if (finished) {
            return;
        }
        if (file == null) {
            budget.release(reserved);
        } else {
            out.close();
            Files.deleteIfExists(file);
        }
    }
}
