package org.tegula.hadoop.bench.cluster;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.v2.MiniMRYarnCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Runs a program on a cluster of Hadoop's own, YARN with one node in this JVM and a process for each task; then both end. */
public final class OnCluster {
    private OnCluster() {}

    /**
     * Starts the cluster and calls the program's main method, which ends the JVM.
     *
     * @param arguments the program's class and its arguments
     * @throws Exception if the cluster does not start, or the program throws
     */
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        // A node refuses work on a disk that is nine tenths full, and the client waits for ever.
        conf.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100);
        MiniMRYarnCluster cluster = new MiniMRYarnCluster("bench");
        cluster.init(conf);
        cluster.start();
        Runtime.getRuntime().addShutdownHook(new Thread(cluster::stop));
        Path settings = Files.createTempFile("cluster", ".xml");
        settings.toFile().deleteOnExit();
        try (OutputStream out = Files.newOutputStream(settings)) {
            cluster.getConfig().writeXml(out);
        }
        String[] passed = Stream.concat(
                        Stream.of("-conf", settings.toString()), Arrays.stream(arguments, 1, arguments.length))
                .toArray(String[]::new);
        try {
            Class.forName(arguments[0]).getMethod("main", String[].class).invoke(null, (Object) passed);
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            System.exit(1); // the cluster's threads would keep the JVM
        }
    }
}
