package org.tegula.hadoop.memory;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Bytes that grow at the end and are never moved: arrays that double in size up to a quarter of a megabyte, each reserved
 * before it is made. One thread writes; any thread may read the bytes written before its reader was opened.
 */
public final class Chunks extends OutputStream {
    private static final int FIRST_BYTES = 1 << 10;
    /** Larger arrays waste room in heaps of regions of a megabyte. */
    private static final int LARGEST_BYTES = 1 << 18;

    private final Room room;
    private final List<byte[]> chunks = new ArrayList<>();
    private final List<Long> starts = new ArrayList<>();
    private byte[] last = new byte[0];
    private int used;
    private volatile long length;
    private long held;

    /**
     * No bytes yet.
     *
     * @param room that is asked for each array
     */
    public Chunks(Room room) {
        this.room = room;
    }

    /**
     * How much was written.
     *
     * @return bytes
     */
    public long length() {
        return length;
    }

    /**
     * Returns the bytes of the arrays, written or not.
     *
     * @return bytes
     */
    public synchronized long heldBytes() {
        return held;
    }

    /** Gives the room back; open readers may go on. */
    public synchronized void release() {
        room.release(held);
        held = 0;
    }

    private synchronized void grow() throws NoRoomException {
        int size = chunks.isEmpty() ? FIRST_BYTES : Math.min(LARGEST_BYTES, 2 * last.length);
        if (!room.reserve(size)) {
            throw new NoRoomException(size);
        }
        held += size;
        last = new byte[size];
        chunks.add(last);
        starts.add(length);
        used = 0;
    }

    @Override
    public void write(int b) throws IOException {
        if (used == last.length) {
            grow();
        }
        last[used++] = (byte) b;
        length++;
    }

    @Override
    public void write(byte[] source, int offset, int count) throws IOException {
        Objects.checkFromIndexSize(offset, count, source.length);
        int from = offset;
        int left = count;
        while (left > 0) {
            if (used == last.length) {
                grow();
            }
            int part = Math.min(left, last.length - used);
            System.arraycopy(source, from, last, used, part);
            used += part;
            length += part;
            from += part;
            left -= part;
        }
    }

    private synchronized int chunkOf(long position) {
        int low = 0;
        int high = starts.size() - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (starts.get(middle) <= position) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    private synchronized byte[] chunk(int number) {
        return chunks.get(number);
    }

    private synchronized long start(int number) {
        return starts.get(number);
    }

    /**
     * Reads the bytes written by now.
     *
     * @return a reader at the begin
     */
    public Reader reader() {
        return new Reader(length);
    }

    /** Reads from any place on, up to a fixed end. One thread uses it. */
    public final class Reader extends InputStream {
        private final long end;
        private int number = -1;
        private byte[] chunk = new byte[0];
        private int at;
        private int chunkEnd;

        private Reader(long end) {
            this.end = end;
        }

        /**
         * The place of the next byte.
         *
         * @return bytes from the begin
         */
        public long position() {
            return number < 0 ? 0 : start(number) + at;
        }

        /**
         * Where the reader ends.
         *
         * @return bytes from the begin
         */
        public long end() {
            return end;
        }

        /**
         * Continues at another place.
         *
         * @param position up to the end
         * @throws EOFException if it is beyond
         */
        public void seek(long position) throws EOFException {
            if (position < 0 || position > end) {
                throw new EOFException("There is no byte " + position + " of " + end);
            }
            if (end > 0) {
                enter(chunkOf(position));
                at = (int) (position - start(number));
            }
        }

        private void enter(int next) {
            number = next;
            chunk = chunk(next);
            at = 0;
            chunkEnd = (int) Math.min(chunk.length, end - start(next));
        }

        private boolean atEnd() {
            if (at < chunkEnd) {
                return false;
            }
            if (position() == end) {
                return true;
            }
            enter(number + 1);
            return false;
        }

        @Override
        public int read() {
            return atEnd() ? -1 : chunk[at++] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int count) {
            Objects.checkFromIndexSize(offset, count, target.length);
            if (count == 0) {
                return 0;
            }
            if (atEnd()) {
                return -1;
            }
            int part = Math.min(count, chunkEnd - at);
            System.arraycopy(chunk, at, target, offset, part);
            at += part;
            return part;
        }

        @Override
        public long skip(long count) throws IOException {
            long part = Math.max(0, Math.min(count, end - position()));
            seek(position() + part);
            return part;
        }

        @Override
        public int available() {
            return (int) Math.min(Integer.MAX_VALUE, end - position());
        }
    }
}
