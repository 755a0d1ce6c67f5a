package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A port goes on after a moment without room. */
@Timeout(60)
class PortTest {
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    private static void greet(Socket accepted) {
        try (accepted) {
            accepted.getOutputStream().write(7);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int greeting(Port port) throws IOException {
        try (Socket socket = new Socket(port.host(), port.number())) {
            socket.setSoTimeout(10_000);
            return socket.getInputStream().read();
        }
    }

    @Test
    void withoutAThreadOneConnectionEndsAndTheNextIsServed() throws Exception {
        AtomicBoolean hasThreads = new AtomicBoolean();
        Executor executor = work -> {
            if (!hasThreads.getAndSet(true)) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            threads.execute(work);
        };
        Port port = new Port(InetAddress.getLoopbackAddress());
        Future<?> server = threads.submit(() -> port.serve(executor, PortTest::greet));
        assertEquals(-1, greeting(port));
        assertEquals(7, greeting(port));
        port.close();
        server.get();
    }

    @Test
    void withoutADescriptorItDoesNotSpin() throws Exception {
        AtomicInteger faults = new AtomicInteger();
        long begin = System.nanoTime();
        ServerSocket socket = new ServerSocket(0, 0, InetAddress.getLoopbackAddress()) {
            @Override
            public Socket accept() throws IOException {
                if (faults.getAndIncrement() < 3) {
                    throw new SocketException("Too many open files");
                }
                return super.accept();
            }
        };
        Port port = new Port(socket);
        Future<?> server = threads.submit(() -> port.serve(threads, PortTest::greet));
        assertEquals(7, greeting(port));
        assertTrue(System.nanoTime() - begin > 250_000_000, "It has paused");
        port.close();
        server.get();
    }
}
