package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.Job;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.Settings;

/** After any malformed call, the server continues, and the next job is right. */
@Timeout(120)
class MalformedCallsTest {
    /** How a connection of Hadoop's RPC begins: its ninth version, no service class, and that tokens are used. */
    private static final byte[] BEGIN = {'h', 'r', 'p', 'c', 9, 0, -33};

    @TempDir
    Path folder;

    private EngineServer server;
    private Configuration conf;

    @BeforeEach
    void serve() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        conf.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        server = new EngineServer(conf, "127.0.0.1", 0);
        conf.set(Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort());
    }

    @AfterEach
    void close() throws IOException {
        server.close();
        // Hadoop's cache would hand a client's view of the disk, which asks this server, to other tests.
        FileSystem.closeAll();
    }

    static Stream<Arguments> calls() throws IOException {
        byte[] noise = new byte[100_000];
        new Random(7).nextBytes(noise);
        byte[] web = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.UTF_8);
        return Stream.of(
                Arguments.of("noise", noise, true),
                Arguments.of("a browser", web, true),
                Arguments.of("another version", new byte[] {'h', 'r', 'p', 'c', 4, 0, 0, 0, 0, 0, 9}, true),
                Arguments.of("a frame of two gigabytes", frame(Integer.MAX_VALUE, 0), true),
                Arguments.of("a frame of a negative length", frame(-5, 100), true),
                Arguments.of("a frame of noise", frame(5_000, 5_000), true),
                Arguments.of("a frame that ends in the middle", frame(5_000, 10), false),
                Arguments.of("a client that says hello and no more", BEGIN, false));
    }

    private static byte[] frame(int length, int bytes) throws IOException {
        byte[] noise = new byte[bytes];
        new Random(bytes).nextBytes(noise);
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(whole);
        out.write(BEGIN);
        out.writeInt(length);
        out.write(noise);
        return whole.toByteArray();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("calls")
    void goesOn(String what, byte[] bytes, boolean isRefused) throws Exception {
        try (Socket socket = new Socket("127.0.0.1", server.address().getPort())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(bytes);
            if (isRefused) {
                awaitClose(socket);
            }
        }
        Files.writeString(folder.resolve("in.txt"), "b a b\n");
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("out"));
        assertTrue(job.waitForCompletion(false));
        assertEquals("a\t1\nb\t2\n", Files.readString(folder.resolve("out/part-r-00000")));
    }

    /** Fails with a timeout if the server waits for more. */
    private static void awaitClose(Socket socket) throws IOException {
        try {
            socket.getInputStream().readAllBytes();
        } catch (SocketException e) {
            assertTrue(e.getMessage().contains("reset"), e::getMessage);
        }
    }
}
