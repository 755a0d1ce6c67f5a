package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataOutputBuffer;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** What a server and its clients read of each other before anything else: the files beside a server, and who it is that calls. */
public final class SecretsTarget implements Target {
    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        switch (input.choice() % 4) {
            case 0 -> readToken(input);
            case 1 -> readSecret(input);
            case 2 -> readProcess(input);
            default -> readKept(input);
        }
    }

    private static void readToken(Input input) throws IOException {
        ServerToken token = new ServerToken();
        token.readFields(input.stream());
        ServerToken again = new ServerToken();
        again.readFields(new Input(token.getBytes()).stream());
        assertArrayEquals(token.getBytes(), again.getBytes());
        assertEquals(String.valueOf(token.getUser()), String.valueOf(again.getUser()));
    }

    private static void readSecret(Input input) throws IOException {
        ServerSecret secret = ServerSecret.read(input.file("server.token"));
        assertEquals(new String(input.rest(), StandardCharsets.UTF_8).strip(), secret.text());
        ServerToken token = new ServerToken("user");
        assertTrue(secret.createPassword(token).length > 0);
    }

    /** The file is another server's, and stays. */
    private static void readProcess(Input input) throws IOException {
        Path file = input.file("server.pid");
        Configuration conf = new Configuration(false);
        conf.set(Settings.SERVER_TOKEN_FILE, file.resolveSibling("server.token").toString());
        PidFile.of(conf, 1).remove();
        assertTrue(Files.exists(file));
    }

    private static void readKept(Input input) throws IOException {
        KeptFile kept = new KeptFile();
        kept.readFields(input.stream());
        DataOutputBuffer out = new DataOutputBuffer();
        kept.write(out);
        KeptFile again = new KeptFile();
        again.readFields(new Input(Arrays.copyOf(out.getData(), out.getLength())).stream());
        assertEquals(kept.path(), again.path());
        assertEquals(kept.user(), again.user());
        assertEquals(kept.pairs(), again.pairs());
        assertEquals(kept.bytes(), again.bytes());
    }
}
