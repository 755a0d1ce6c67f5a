package org.tegula.hadoop.place;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.net.NetUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Fetches pairs from other places. Connections are used again, by one stream at a time. */
final class DataClient {
    private static final Logger LOG = LoggerFactory.getLogger(DataClient.class);
    private static final int CONNECT_MILLIS = 10_000;

    private final byte[] secret;
    private final int silenceMillis;
    private final Map<String, Deque<Connection>> idle = new ConcurrentHashMap<>();

    /**
     * @param silenceMillis after which a silent place counts as gone; 0 for never
     */
    DataClient(byte[] secret, int silenceMillis) {
        this.secret = secret;
        this.silenceMillis = silenceMillis;
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
        DataRequest request = new DataRequest(job, output.attempt(), partitions, objects);
        return open(address, "place " + output.place(), request);
    }

    /** The bytes of a file that is in the memory of another place. */
    InputStream openHeld(String address, String place, String id) throws IOException {
        return open(address, place, DataRequest.ofFile(id));
    }

    private InputStream open(String address, String place, DataRequest asked) throws IOException {
        DataOutputBuffer request = new DataOutputBuffer();
        asked.write(request);
        Deque<Connection> there = idle.computeIfAbsent(address, none -> new ConcurrentLinkedDeque<>());
        Connection connection = there.poll();
        if (connection == null) {
            connection = connect(address);
        }
        try {
            connection.out.write(request.getData(), 0, request.getLength());
            return new Chunks(connection, there, place, silenceMillis);
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
            socket.setSoTimeout(silenceMillis);
            return new Connection(
                    socket,
                    new DataInputStream(new BufferedInputStream(socket.getInputStream(), DataServer.CHUNK_BYTES)),
                    new DataOutputStream(socket.getOutputStream()));
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    /** Chunks of a connection, which is used again if all were read. */
    private static final class Chunks extends ChunkStream implements Incoming.Abortable {
        private final Connection connection;
        private final Deque<Connection> idle;
        private final String from;
        private final int silenceMillis;
        /** Whether another stream may have the connection. */
        private boolean isHandedBack;

        Chunks(Connection connection, Deque<Connection> idle, String from, int silenceMillis) {
            super(connection.in, from);
            this.connection = connection;
            this.idle = idle;
            this.from = from;
            this.silenceMillis = silenceMillis;
        }

        @Override
        public int read() throws IOException {
            try {
                return super.read();
            } catch (SocketTimeoutException e) {
                throw silent(e);
            }
        }

        @Override
        public int read(byte[] target, int start, int length) throws IOException {
            try {
                return super.read(target, start, length);
            } catch (SocketTimeoutException e) {
                throw silent(e);
            }
        }

        private IOException silent(SocketTimeoutException cause) {
            return new IOException(
                    from + " was silent for " + silenceMillis / 1000 + " seconds, and has not sent all of its pairs",
                    cause);
        }

        @Override
        public synchronized void abort() {
            if (isHandedBack) {
                return;
            }
            try {
                connection.close();
            } catch (IOException e) {
                LOG.debug("A connection could not be closed", e);
            }
        }

        private synchronized boolean handBack() {
            isHandedBack = !connection.socket.isClosed();
            return isHandedBack;
        }

        private synchronized boolean isHandedBack() {
            return isHandedBack;
        }

        @Override
        public void close() throws IOException {
            if (isHandedBack()) {
                return;
            }
            boolean whole = false;
            try {
                whole = isWhole();
            } finally {
                if (whole && handBack()) {
                    idle.push(connection);
                } else {
                    connection.close();
                }
            }
        }
    }
}
