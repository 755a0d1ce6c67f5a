package org.tegula.hadoop;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.protocol.ClientProtocol;
import org.apache.hadoop.mapreduce.protocol.ClientProtocolProvider;
import org.tegula.hadoop.client.EngineClient;
import org.tegula.hadoop.client.ServerConnection;
import org.tegula.hadoop.engine.Engine;

/** How Hadoop's client finds the engine, or a server: it asks every provider on the class path for its framework. */
public final class TegulaProvider extends ClientProtocolProvider {
    private static final int POLL_MILLIS = 2;
    private static final int POLL_SERVER_MILLIS = 10;

    /** Made by the service loader. */
    public TegulaProvider() {}

    @Override
    public ClientProtocol create(Configuration conf) throws IOException {
        String framework = conf.get(MRConfig.FRAMEWORK_NAME, MRConfig.LOCAL_FRAMEWORK_NAME);
        boolean claimed = framework.equals(Settings.FRAMEWORK)
                || framework.equals(MRConfig.LOCAL_FRAMEWORK_NAME) && conf.getBoolean(Settings.CLAIM_LOCAL, false);
        if (!claimed) {
            return null;
        }
        if (framework.equals(MRConfig.LOCAL_FRAMEWORK_NAME)) {
            conf.setInt(MRJobConfig.NUM_MAPS, 1); // as Hadoop's local runner does: mapred's formats cut files by it
        }
        String server = conf.getTrimmed(Settings.SERVER_ADDRESS, "");
        int millis = server.isEmpty() ? POLL_MILLIS : POLL_SERVER_MILLIS;
        pollOften(conf, Job.PROGRESS_MONITOR_POLL_INTERVAL_KEY, millis);
        pollOften(conf, Job.COMPLETION_POLL_INTERVAL_KEY, millis);
        return server.isEmpty() ? new EngineClient(Engine.shared(conf), conf) : ServerConnection.open(conf, server);
    }

    /** Hadoop's defaults of seconds would be longer than many jobs; a user's setting stays. */
    private static void pollOften(Configuration conf, String name, int millis) {
        if (Settings.isDefault(conf, name)) {
            conf.setInt(name, millis);
        }
    }

    @Override
    public ClientProtocol create(InetSocketAddress address, Configuration conf) {
        return null;
    }

    @Override
    public void close(ClientProtocol client) {
        ServerConnection.close(client);
    }
}
