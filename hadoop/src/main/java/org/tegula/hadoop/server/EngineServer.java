package org.tegula.hadoop.server;

import java.io.Closeable;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.security.SaslRpcServer.AuthMethod;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.job.Job;

/**
 * Gives the engine of this JVM to other processes of the machine. Only clients that know its secret are answered; Hadoop's RPC
 * refuses all other calls before any code of this package sees them.
 */
public final class EngineServer implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineServer.class);
    private static final int HANDLERS = 8;
    private static final int MOST_REQUEST_BYTES = 16 << 20;
    private static final long STOP_SECONDS = 20;
    private static final long STOP_LOOK_MILLIS = 20;

    private final Engine engine;
    private final Path folder;
    private final ServerSecret secret = ServerSecret.create();
    private final RPC.Server calls;
    private final Path tokenFile;
    private final PageLog log = PageLog.open();
    private final ServerPage page;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "tegula-leases");
        thread.setDaemon(true);
        return thread;
    });

    /**
     * A server that listens.
     *
     * @param site sets the size of its engine, and all other settings
     * @param host to listen at
     * @param port to listen at; 0 for any that is free
     * @throws IOException if the port is in use, or the secret cannot be written
     */
    public EngineServer(Configuration site, String host, int port) throws IOException {
        this(Engine.shared(site), site, host, port);
    }

    EngineServer(Engine engine, Configuration site, String host, int port) throws IOException {
        this.engine = engine;
        Configuration conf = new Configuration(site);
        conf.set(CommonConfigurationKeysPublic.HADOOP_SECURITY_AUTHENTICATION, AuthMethod.TOKEN.toString());
        conf.setInt(CommonConfigurationKeys.IPC_MAXIMUM_DATA_LENGTH, MOST_REQUEST_BYTES);
        Path temporary = Path.of(site.get("hadoop.tmp.dir"));
        Files.createDirectories(temporary);
        folder = Files.createTempDirectory(temporary, "tegula-server-");
        Leases leases = new Leases(site.getLong(Settings.SERVER_LEASE_SECONDS, Settings.SERVER_LEASE_SECONDS_DEFAULT));
        page = openPage(site);
        try {
            calls = listen(conf, new ServedEngine(engine, site, folder, leases, page), leases, host, port);
        } catch (IOException | RuntimeException e) {
            page.close();
            giveUp();
            throw e;
        }
        tokenFile = ServerSecret.file(site, address().getPort());
        try {
            secret.write(tokenFile);
        } catch (IOException | RuntimeException e) {
            calls.stop();
            page.close();
            giveUp();
            throw e;
        }
        calls.start();
        clock.scheduleWithFixedDelay(() -> leases.expired().forEach(EngineServer::end), 1, 1, TimeUnit.SECONDS);
    }

    private RPC.Server listen(Configuration conf, ServerProtocol answers, Leases leases, String host, int port)
            throws IOException {
        return new RPC.Builder(conf)
                .setProtocol(ServerProtocol.class)
                .setInstance(Proxy.newProxyInstance(
                        ServerProtocol.class.getClassLoader(),
                        new Class<?>[] {ServerProtocol.class},
                        new CallHandler(answers, leases)))
                .setBindAddress(host)
                .setPort(port)
                .setNumHandlers(HANDLERS)
                .setSecretManager(secret)
                .build();
    }

    private ServerPage openPage(Configuration site) throws IOException {
        int port = site.getInt(Settings.SERVER_PAGE_PORT, 0);
        try {
            return new ServerPage(engine, secret, log, port);
        } catch (IOException | IllegalArgumentException e) {
            giveUp();
            throw new IOException(
                    "The server's page cannot listen at port " + port + " (" + e.getMessage() + "): set "
                            + Settings.SERVER_PAGE_PORT + " to a port that is free, or to 0 for any",
                    e);
        }
    }

    /** Leaves nothing of a server that does not begin. */
    private void giveUp() {
        clock.shutdownNow();
        log.close();
        FileUtil.fullyDelete(folder.toFile());
    }

    private static void end(Job job) {
        LOG.warn(
                "{} is killed: its client was not heard of for too long",
                job.status().getJobID());
        job.kill();
    }

    /**
     * Where it listens.
     *
     * @return host and port
     */
    public InetSocketAddress address() {
        return calls.getListenerAddress();
    }

    /**
     * Where its page is.
     *
     * @return a URL of the loopback address
     */
    public String page() {
        return page.url();
    }

    /**
     * Where its secret is.
     *
     * @return a file that only its user may read
     */
    public Path tokenFile() {
        return tokenFile;
    }

    /**
     * Waits until the server is closed.
     *
     * @throws InterruptedException if the thread is
     */
    public void join() throws InterruptedException {
        calls.join();
    }

    /** Takes no more calls, kills all jobs, and waits until their output is aborted. */
    @Override
    public void close() throws IOException {
        secret.remove(tokenFile);
        clock.shutdownNow();
        page.close();
        log.close();
        calls.stop();
        engine.jobs().forEach(Job::kill);
        try {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
            while (!engine.jobs().stream().allMatch(Job::hasEnded) && System.nanoTime() < end) {
                Thread.sleep(STOP_LOOK_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        FileUtil.fullyDelete(folder.toFile());
    }
}
