package org.tegula.hadoop.place;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
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

    /** Chunks of a connection, which is used again if all were read. */
    private static final class Chunks extends ChunkStream {
        private final Connection connection;
        private final Deque<Connection> idle;

        Chunks(Connection connection, Deque<Connection> idle, String from) {
            super(connection.in, from);
            this.connection = connection;
            this.idle = idle;
        }

        @Override
        public void close() throws IOException {
            boolean whole = false;
            try {
                whole = isWhole();
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
