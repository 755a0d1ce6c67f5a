package org.tegula.hadoop.compat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.giraph.GiraphRunner;
import org.apache.hadoop.util.ToolRunner;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** Giraph's examples over a graph in the folder {@code in}, one after the other, with a ZooKeeper in this JVM. */
final class GiraphJobs {
    private static final String JSON = "org.apache.giraph.io.formats.JsonLongDoubleFloatDoubleVertexInputFormat";

    private GiraphJobs() {}

    /**
     * Runs them.
     *
     * @param workers how many of Giraph's workers; the master is a task of its own if there are several
     * @param options for Hadoop
     */
    static void run(int workers, List<String> options) throws Exception {
        NIOServerCnxnFactory zooKeeper = zooKeeper();
        try {
            List<String> common = new ArrayList<>(List.of("-w", Integer.toString(workers)));
            common.addAll(List.of("-ca", "giraph.zkList=127.0.0.1:" + zooKeeper.getLocalPort()));
            if (workers == 1) {
                common.addAll(List.of("-ca", "giraph.SplitMasterWorker=false"));
            }
            run(options, common, "SimpleShortestPathsComputation", JSON, "weighted", "paths");
            if (workers == 1) {
                String integers = "org.apache.giraph.io.formats.IntIntNullTextInputFormat";
                run(options, common, "ConnectedComponentsComputation", integers, "plain", "components");
                List<String> ranks = new ArrayList<>(common);
                ranks.addAll(List.of(
                        "-mc",
                        "org.apache.giraph.examples.SimplePageRankComputation$SimplePageRankMasterCompute",
                        "-wc",
                        "org.apache.giraph.examples.SimplePageRankComputation$SimplePageRankWorkerContext"));
                run(options, ranks, "SimplePageRankComputation", JSON, "weighted", "ranks");
            }
        } finally {
            zooKeeper.shutdown();
        }
    }

    private static NIOServerCnxnFactory zooKeeper() throws IOException, InterruptedException {
        var folder = Files.createTempDirectory("zookeeper").toFile();
        NIOServerCnxnFactory server = new NIOServerCnxnFactory();
        server.configure(new InetSocketAddress("127.0.0.1", 0), 100);
        server.startup(new ZooKeeperServer(folder, folder, 2000));
        return server;
    }

    private static void run(
            List<String> options, List<String> common, String computation, String format, String in, String out)
            throws Exception {
        List<String> arguments = new ArrayList<>(options);
        arguments.add("org.apache.giraph.examples." + computation);
        arguments.addAll(List.of("-vif", format, "-vip", "in/" + in, "-op", "out/" + out));
        arguments.addAll(List.of("-vof", "org.apache.giraph.io.formats.IdWithValueTextOutputFormat"));
        arguments.addAll(common);
        if (ToolRunner.run(new GiraphRunner(), arguments.toArray(String[]::new)) != 0) {
            throw new IllegalStateException(computation + " failed");
        }
    }

    /** Takes the number of workers, and options for Hadoop. */
    public static void main(String[] arguments) throws Exception {
        run(Integer.parseInt(arguments[0]), List.of(arguments).subList(1, arguments.length));
    }
}
