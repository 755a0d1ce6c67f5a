package org.tegula.hadoop.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.util.ConfigUtil;
import org.apache.hadoop.util.GenericOptionsParser;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;

/** {@code tegula-hadoop serve}: a server until the process is told to end. */
public final class ServeCommand {
    private static final Logger LOG = LoggerFactory.getLogger(ServeCommand.class);
    /** Before files that are in memory alone are written, and before Hadoop closes its file systems. */
    private static final int SHUTDOWN_PRIORITY = 30;

    private static final long SHUTDOWN_SECONDS = 30;
    private static final int MOST_PORT = 65_535;

    private ServeCommand() {}

    /**
     * Serves.
     *
     * @param arguments {@code --host}, {@code --port}, {@code --places}, and Hadoop's own options before them
     * @throws Exception if the server cannot be started
     */
    public static void main(String[] arguments) throws Exception {
        ConfigUtil.loadResources();
        Configuration.addDefaultResource("tegula-site.xml");
        Configuration conf = new Configuration();
        conf.unset(Settings.SERVER_ADDRESS); // which its clients have in their environment
        String[] own = new GenericOptionsParser(conf, arguments).getRemainingArgs();
        String host = Settings.SERVER_HOST_DEFAULT;
        int port = Settings.SERVER_PORT_DEFAULT;
        for (int i = 0; i < own.length; i += 2) {
            if (i + 1 < own.length && own[i].equals("--host")) {
                host = own[i + 1];
            } else if (i + 1 < own.length && own[i].equals("--port") && isPort(own[i + 1])) {
                port = Integer.parseInt(own[i + 1]);
            } else if (i + 1 < own.length && own[i].equals("--places")) {
                conf.set(Settings.PLACES, own[i + 1]);
            } else {
                fail("usage: tegula-hadoop serve [-D name=value]... [--host 127.0.0.1] [--port "
                        + Settings.SERVER_PORT_DEFAULT + "] [--places jvm:4]");
            }
        }
        serve(conf, host, port);
    }

    private static boolean isPort(String text) {
        return text.matches("[0-9]{1,5}") && Integer.parseInt(text) <= MOST_PORT;
    }

    private static void serve(Configuration conf, String host, int port) throws InterruptedException {
        try {
            EngineServer server = new EngineServer(conf, host, port);
            PidFile pid = PidFile.of(conf, server.address().getPort());
            pid.write();
            ShutdownHookManager.get()
                    .addShutdownHook(() -> stop(server, pid), SHUTDOWN_PRIORITY, SHUTDOWN_SECONDS, TimeUnit.SECONDS);
            System.out.println("Listening on " + server.address().getAddress().getHostAddress() + ":"
                    + server.address().getPort() + "; the secret is in " + server.tokenFile());
            System.out.println("The page is " + server.page() + "; its password is the secret");
            server.join();
        } catch (IOException | IllegalArgumentException e) { // also of settings that make no sense
            fail(e.getMessage());
        } catch (UncheckedIOException e) {
            fail(e.getMessage() + ": " + e.getCause().getMessage());
        }
    }

    private static void stop(EngineServer server, PidFile pid) {
        try {
            server.close();
            pid.remove();
        } catch (IOException e) {
            LOG.error("The server's files could not be removed", e);
        }
    }

    private static void fail(String why) {
        System.err.println("tegula-hadoop: " + why);
        System.exit(2);
    }
}
