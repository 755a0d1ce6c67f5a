package org.tegula.hadoop.place;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A port that takes connections until it is closed. A moment without room for a thread or a descriptor costs the connections of
 * that moment alone: whoever has lost one connects again.
 */
final class Port implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(Port.class);
    /** After which there may be room again. */
    private static final long PAUSE_MILLIS = 100;

    private final ServerSocket socket;

    /** Listens at a free port of a host. */
    Port(InetAddress host) throws IOException {
        this(new ServerSocket());
        socket.bind(new InetSocketAddress(host, 0));
    }

    Port(ServerSocket socket) {
        this.socket = socket;
    }

    String host() {
        return socket.getInetAddress().getHostAddress();
    }

    int number() {
        return socket.getLocalPort();
    }

    /** Hands each connection to a thread, until the port is closed. */
    void serve(Executor threads, Consumer<Socket> server) {
        while (!socket.isClosed()) {
            try {
                hand(socket.accept(), threads, server);
            } catch (IOException | RuntimeException | Error e) {
                if (!hasPaused(e)) {
                    return;
                }
            }
        }
    }

    private static void hand(Socket accepted, Executor threads, Consumer<Socket> server) throws IOException {
        try {
            threads.execute(() -> server.accept(accepted));
        } catch (RuntimeException | Error e) {
            accepted.close();
            throw e;
        }
    }

    /** Waits after a fault; false if there is nothing to wait for. */
    private boolean hasPaused(Throwable fault) {
        if (socket.isClosed()) {
            LOG.debug("Port {} takes no more connections", number(), fault);
            return false;
        }
        LOG.warn("Port {} could not take a connection, and goes on: {}", number(), fault.toString());
        try {
            Thread.sleep(PAUSE_MILLIS);
            return true;
        } catch (InterruptedException e) {
            LOG.debug("Port {} takes no more connections", number(), e);
            return false;
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
