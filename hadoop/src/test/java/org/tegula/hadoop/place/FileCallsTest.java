package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.AccessDeniedException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A program at a place finds out by the class of an exception why its driver refuses to change a file, as it does elsewhere. */
@Timeout(60)
class FileCallsTest {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Exception fault;
    private Calls driver;
    private Calls place;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
            place = new Calls(socket, 0, (op, in) -> Body.EMPTY, threads, why -> {});
            driver = new Calls(server.accept(), 0, (op, in) -> fail(), threads, why -> {});
        }
        place.start("place");
        driver.start("driver");
    }

    private Body fail() throws Exception {
        throw fault;
    }

    @AfterEach
    void close() {
        place.close();
        driver.close();
        threads.shutdownNow();
    }

    private IOException said() {
        return assertThrows(IOException.class, () -> new FileCalls(place, "place").mkdirs("/some/path", null));
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                FileAlreadyExistsException.class,
                FileNotFoundException.class,
                ParentNotDirectoryException.class,
                AccessDeniedException.class,
                IOException.class
            })
    void exceptionsHaveTheClassThatTheyHadAtTheDriver(Class<? extends IOException> type) throws Exception {
        fault = type.getConstructor(String.class).newInstance("/some/path: is in the way");
        IOException said = said();
        assertEquals(type, said.getClass());
        assertEquals("/some/path: is in the way", said.getMessage());
    }

    /** No class of its own can be made of a text alone. */
    static final class Own extends IOException {
        Own(int code) {
            super("code " + code);
        }
    }

    @Test
    void otherExceptionsAreNamed() {
        fault = new Own(7);
        assertEquals(Own.class.getName() + ": code 7", said().getMessage());
        fault = new IllegalStateException();
        assertEquals("java.lang.IllegalStateException", said().getMessage());
    }
}
