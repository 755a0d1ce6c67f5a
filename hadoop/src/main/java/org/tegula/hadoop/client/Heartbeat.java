package org.tegula.hadoop.client;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.ipc.RPC;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.server.ServerProtocol;

/**
 * Tells a server that this JVM lives, for as long as jobs run that it has submitted: a program need not ask for them all
 * the time. All connections of a JVM are one client to a server.
 */
final class Heartbeat {
    private static final Logger LOG = LoggerFactory.getLogger(Heartbeat.class);
    private static final long PERIOD_MILLIS = 1000;
    private static final int MOST_FAILURES = 5;

    private static final Map<InetSocketAddress, Heartbeat> BEATING = new HashMap<>();

    private final InetSocketAddress address;
    private final ServerProtocol calls;
    private int failures;

    private Heartbeat(InetSocketAddress address, ServerProtocol calls) {
        this.address = address;
        this.calls = calls;
    }

    /** Begins, unless it has begun. The connection must be open. */
    static void keep(ServerConnection connection) throws IOException {
        synchronized (BEATING) {
            if (!BEATING.containsKey(connection.address())) {
                Heartbeat begun = new Heartbeat(connection.address(), connection.connect());
                BEATING.put(connection.address(), begun);
                Thread thread = new Thread(begun::beat, "tegula-heartbeat");
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    private void beat() {
        try {
            do {
                Thread.sleep(PERIOD_MILLIS);
            } while (isWanted());
        } catch (InterruptedException e) {
            LOG.debug("No more is heard of this client at {}", address, e);
        }
    }

    /** Ends the connection, too, if it is not wanted any more; nobody can submit a job in between. */
    private boolean isWanted() {
        synchronized (BEATING) {
            int running = 0;
            try {
                running = calls.stillHere();
                failures = 0;
            } catch (IOException e) {
                LOG.debug("The server at {} does not answer", address, e);
                running = ++failures < MOST_FAILURES ? 1 : 0;
            }
            if (running == 0) {
                BEATING.remove(address);
                RPC.stopProxy(calls);
            }
            return running > 0;
        }
    }
}
