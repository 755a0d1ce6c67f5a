package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a server reads of a client that has not proved anything yet, and a client of the files beside the server. */
class ServerTokenTest {
    private static ServerToken read(byte[] bytes) throws IOException {
        ServerToken token = new ServerToken();
        token.readFields(new DataInputStream(new ByteArrayInputStream(bytes)));
        return token;
    }

    /** Five bytes of anybody who could reach the port made the server ask for two gigabytes. */
    @Test
    void aNameOfTwoGigabytesIsRefusedBeforeItIsMade() throws IOException {
        assertEquals("user", read(new ServerToken("user").getBytes()).getUser().getUserName());
        assertThrows(IOException.class, () -> read(new byte[] {-116, 127, -1, -1, -1}));
    }

    @Test
    void aFileWithoutASecretIsNamed(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("server.token"), "\n");
        String said =
                assertThrows(IOException.class, () -> ServerSecret.read(file)).getMessage();
        assertTrue(said.startsWith(file + " has no secret"), said);
    }
}
