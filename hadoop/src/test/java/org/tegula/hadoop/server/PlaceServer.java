package org.tegula.hadoop.server;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.place.Places;

/** A server in this JVM whose tasks run in JVMs of their own. */
final class PlaceServer implements AutoCloseable {
    private final Path folder;
    private final Places places;
    private final EngineServer server;

    /** Some places with two slots each; the settings are the engine's. */
    PlaceServer(Path folder, int count, Map<String, String> settings) throws IOException {
        this.folder = folder;
        Configuration site = Engines.TEGULA.conf(folder.resolve("server"));
        site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        site.set(Settings.PLACES, "jvm:" + count);
        settings.forEach(site::set);
        places = Places.of(site, 2 * count);
        server = new EngineServer(new Engine(places, 64 << 20, PairCache.shared(site), 20), site, "127.0.0.1", 0);
    }

    /** The settings of a client. */
    Configuration conf(Path temporary) {
        Configuration conf = Engines.TEGULA.conf(temporary);
        conf.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        conf.set(Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort());
        return conf;
    }

    /** The processes of all places that run now. */
    static List<ProcessHandle> processes() {
        return placesOf(ProcessHandle.current());
    }

    /** The processes of the places that a driver has started. */
    static List<ProcessHandle> placesOf(ProcessHandle driver) {
        return driver.children().filter(PlaceServer::isPlace).toList();
    }

    /** Java's own view of a command line ends within a long class path, before the main class. */
    private static boolean isPlace(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc/" + process.pid() + "/cmdline"), StandardCharsets.ISO_8859_1)
                    .contains("PlaceMain");
        } catch (IOException e) {
            return false; // it has ended
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        places.close();
    }
}
