package org.tegula.hadoop.place;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.net.NetUtils;

/** Fetches pairs from other places. Connections are used again, by one stream at a time. */
final class DataClient {
    private static final int CONNECT_MILLIS = 10_000;

    private final byte[] secret;
    private final Map<String, Deque<Connection>> idle = new ConcurrentHashMap<>();

    DataClient(byte[] secret) {
        this.secret = secret;
    }

    private record Connection(Socket socket, DataInputStream in, DataOutputStream out) implements Closeable {
        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    /** The stream of a {@link RunEncoder} at another place. */
    InputStream open(String address, String job, MapOutput output, int[] partitions, boolean objects)
            throws IOException {
        return open(address, "place " + output.place(), job, output.attempt(), partitions, objects);
    }

    /** The bytes of a file that is in the memory of another place. */
    InputStream openHeld(String address, String place, String id) throws IOException {
        return open(address, place, DataServer.HELD_FILE, id, new int[0], false);
    }

    private InputStream open(
            String address, String place, String job, String attempt, int[] partitions, boolean objects)
            throws IOException {
        DataOutputBuffer request = new DataOutputBuffer();
        request.writeUTF(job);
        request.writeUTF(attempt);
        request.writeInt(partitions.length);
        for (int each : partitions) {
            request.writeInt(each);
        }
        request.writeBoolean(objects);
        Deque<Connection> there = idle.computeIfAbsent(address, none -> new ConcurrentLinkedDeque<>());
        Connection connection = there.poll();
        if (connection == null) {
            connection = connect(address);
        }
        try {
            connection.out.write(request.getData(), 0, request.getLength());
            return new Chunks(connection, there, place);
        } catch (IOException e) {
            connection.close();
            throw e;
        }
    }

    private Connection connect(String address) throws IOException {
        if (address.isEmpty()) {
            throw new IOException("The place was lost");
        }
        Socket socket = new Socket();
        try {
            socket.connect(NetUtils.createSocketAddr(address), CONNECT_MILLIS);
            Handshake.prove(socket, secret, false);
            return new Connection(
                    socket,
                    new DataInputStream(new BufferedInputStream(socket.getInputStream(), DataServer.CHUNK_BYTES)),
                    new DataOutputStream(socket.getOutputStream()));
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    /** Reads chunks up to the end. */
    private static final class Chunks extends InputStream {
        private final Connection connection;
        private final Deque<Connection> idle;
        private final String from;
        private int left;
        private boolean ended;
        private boolean isBroken;

        Chunks(Connection connection, Deque<Connection> idle, String from) {
            this.connection = connection;
            this.idle = idle;
            this.from = from;
        }

        private boolean hasMore() throws IOException {
            if (left == 0 && !ended) {
                left = readLength();
                ended = left == DataServer.END;
            }
            return !ended;
        }

        private int readLength() throws IOException {
            isBroken = true;
            try {
                int length = connection.in.readInt();
                if (length == DataServer.FAULT) {
                    throw new IOException("From " + from + ": " + connection.in.readUTF());
                }
                isBroken = false;
                return length;
            } catch (EOFException e) {
                throw new IOException("The pairs of " + from + " ended on their way", e);
            }
        }

        @Override
        public int read() throws IOException {
            if (!hasMore()) {
                return -1;
            }
            left--;
            return connection.in.readUnsignedByte();
        }

        @Override
        public int read(byte[] target, int start, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (!hasMore()) {
                return -1;
            }
            int count = connection.in.read(target, start, Math.min(length, left));
            if (count < 0) {
                throw new EOFException("The pairs of " + from + " ended on their way");
            }
            left -= count;
            return count;
        }

        /** Uses the connection again if all was read. */
        @Override
        public void close() throws IOException {
            boolean whole = false;
            try {
                whole = !isBroken && left == 0 && !hasMore();
            } finally {
                if (whole) {
                    idle.push(connection);
                } else {
                    connection.close();
                }
            }
        }
    }
}
