package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Settings;

/** A server that cannot begin leaves nothing behind. */
@Timeout(60)
class EngineServerTest {
    @TempDir
    Path folder;

    private Configuration site;

    @BeforeEach
    void configure() {
        site = Engines.TEGULA.conf(folder.resolve("tmp"));
        site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
    }

    private void beginsNot(int port) throws IOException {
        assertThrows(IOException.class, () -> new EngineServer(site, Settings.SERVER_HOST_DEFAULT, port));
        try (Stream<Path> left = Files.list(folder.resolve("tmp/tegula"))) {
            assertEquals(
                    List.of(),
                    left.filter(each -> each.getFileName().toString().startsWith("tegula-server-"))
                            .toList());
        }
    }

    @Test
    void itsPortIsTaken() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName(Settings.SERVER_HOST_DEFAULT))) {
            beginsNot(taken.getLocalPort());
        }
    }

    @Test
    void thePortOfItsPageIsTaken() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            site.setInt(Settings.SERVER_PAGE_PORT, taken.getLocalPort());
            beginsNot(0);
        }
    }

    @Test
    void itsSecretCannotBeWritten() throws IOException {
        Files.createDirectories(folder.resolve("token/in-the-way"));
        beginsNot(0);
    }
}
