package org.tegula.hadoop.client;

import java.io.EOFException;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.security.sasl.SaslException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.protocol.ClientProtocol;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager.InvalidToken;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.server.ServerProtocol;
import org.tegula.hadoop.server.ServerSecret;

/**
 * The cluster that Hadoop's client talks to, passed on to a server on this machine. It connects at the first call, so that the
 * caller gets a plain message if the connection fails.
 */
public final class ServerConnection implements InvocationHandler {
    private static final Logger LOG = LoggerFactory.getLogger(ServerConnection.class);
    /** The text of a status without a note. */
    private static final String NO_NOTE = new JobStatus().getSchedulingInfo();

    private static final int CONNECT_RETRIES = 2;
    private static final int CONNECT_RETRY_MILLIS = 200;
    private static final Set<String> REFUSALS =
            Set.of(SaslException.class.getName(), AccessControlException.class.getName(), InvalidToken.class.getName());

    private final Configuration conf;
    private final String name;
    private final InetSocketAddress address;
    private final Path tokenFile;
    private final String user;
    private final Set<JobID> told = ConcurrentHashMap.newKeySet();
    private ServerProtocol calls;

    private ServerConnection(Configuration site, String host) throws IOException {
        conf = new Configuration(site);
        conf.setInt(CommonConfigurationKeysPublic.IPC_CLIENT_CONNECT_MAX_RETRIES_KEY, CONNECT_RETRIES);
        conf.setInt(CommonConfigurationKeysPublic.IPC_CLIENT_CONNECT_RETRY_INTERVAL_KEY, CONNECT_RETRY_MILLIS);
        name = host;
        address = NetUtils.createSocketAddr(host, Settings.SERVER_PORT_DEFAULT, Settings.SERVER_ADDRESS);
        tokenFile = ServerSecret.file(conf, address.getPort());
        user = UserGroupInformation.getCurrentUser().getShortUserName();
    }

    /**
     * A connection of the present user.
     *
     * @param conf of the client
     * @param address host and port of the server
     * @return a proxy of the server; the caller closes it
     * @throws IOException if the user is not known
     */
    public static ServerProtocol open(Configuration conf, String address) throws IOException {
        return (ServerProtocol) Proxy.newProxyInstance(
                ServerProtocol.class.getClassLoader(),
                new Class<?>[] {ServerProtocol.class},
                new ServerConnection(conf, address));
    }

    /**
     * Closes a connection; of any other client, nothing.
     *
     * @param client that is not asked any more
     */
    public static void close(ClientProtocol client) {
        if (Proxy.isProxyClass(client.getClass())
                && Proxy.getInvocationHandler(client) instanceof ServerConnection connection) {
            connection.disconnect();
        }
    }

    private synchronized void disconnect() {
        if (calls != null) {
            RPC.stopProxy(calls);
            calls = null;
        }
    }

    private synchronized ServerProtocol calls() throws IOException {
        if (calls == null) {
            calls = connect();
        }
        return calls;
    }

    /** Opens a connection for calls of its own, which the caller stops. */
    ServerProtocol connect() throws IOException {
        if (!Files.isReadable(tokenFile)) {
            String why = tokenFile + " with the secret of the server at " + name
                    + " cannot be read: start a server there with 'tegula-hadoop serve', or name its file in "
                    + Settings.SERVER_TOKEN_FILE;
            throw Files.exists(tokenFile) ? new ServerException(why, null) : new ServerException.Gone(why, null);
        }
        UserGroupInformation caller = UserGroupInformation.createRemoteUser(user);
        caller.addToken(ServerSecret.read(tokenFile).token(user));
        return RPC.getProxy(
                ServerProtocol.class,
                ServerProtocol.versionID,
                address,
                caller,
                conf,
                NetUtils.getDefaultSocketFactory(conf));
    }

    InetSocketAddress address() {
        return address;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        try {
            Object answer = method.invoke(calls(), arguments);
            if (method.getName().equals("submitJob")) {
                Heartbeat.keep(this);
            }
            if (answer instanceof JobStatus status && status.isJobComplete()) {
                tell(status);
            }
            return answer;
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof IOException io ? explain(io) : e.getCause();
        }
    }

    /** Prints the server's note about a finished job, once. */
    private void tell(JobStatus status) {
        String note = status.getSchedulingInfo();
        if (!note.equals(NO_NOTE) && told.add(status.getJobID())) {
            LOG.warn("{}, on the server at {}: {}", status.getJobID(), name, note);
        }
    }

    private IOException explain(IOException e) {
        if (isRefusal(e)) {
            return new ServerException(
                    "The server at " + name + " refuses the secret in " + tokenFile
                            + ": it is another server's; name the right file in " + Settings.SERVER_TOKEN_FILE,
                    e);
        }
        if (e instanceof ConnectException) {
            return new ServerException.Gone(
                    "No server answers at " + name + ": start one there with 'tegula-hadoop serve'", e);
        }
        if (e instanceof EOFException) {
            return new ServerException.Gone("The server at " + name + " has ended, and its jobs with it", e);
        }
        return e instanceof RemoteException remote ? unwrap(remote) : e;
    }

    /** Returns the exception that the server threw; the first line of its stack trace, which is in the message, is the cause. */
    private static IOException unwrap(RemoteException e) {
        String first = e.getMessage().lines().findFirst().orElse("");
        return new RemoteException(e.getClassName(), first).unwrapRemoteException();
    }

    private static boolean isRefusal(IOException e) {
        for (Throwable each = e; each != null; each = each.getCause()) {
            String type = each instanceof RemoteException remote
                    ? remote.getClassName()
                    : each.getClass().getName();
            if (REFUSALS.contains(type)) {
                return true;
            }
        }
        return false;
    }
}
