package org.tegula.hadoop.spark;

import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Executors in containers of YARN, with a resource manager and a node manager of Hadoop's in this JVM, are places. */
@Timeout(600)
class YarnPlacesTest {
    @TempDir
    Path folder;

    @Test
    void executorsArePlaces() throws Exception {
        YarnConfiguration conf = new YarnConfiguration();
        conf.set("yarn.nodemanager.resource.memory-mb", "6144");
        conf.set("yarn.nodemanager.vmem-check-enabled", "false");
        conf.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100");
        conf.set("yarn.scheduler.minimum-allocation-mb", "128");
        conf.set("yarn.scheduler.capacity.root.queues", "default");
        conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
        conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
        conf.set("yarn.application.classpath", "");
        try (MiniYARNCluster cluster = new MiniYARNCluster("tegula", 1, 1, 1)) {
            cluster.init(conf);
            cluster.start();
            String clients = "yarn.resourcemanager.address";
            String masters = "yarn.resourcemanager.scheduler.address";
            Map<String, String> settings = Map.of(
                    "spark.hadoop." + clients,
                    cluster.getConfig().get(clients),
                    "spark.hadoop." + masters,
                    cluster.getConfig().get(masters),
                    "spark.hadoop.yarn.application.classpath",
                    "",
                    "spark.yarn.jars",
                    "local:" + System.getenv("SPARK_HOME") + "/jars/*",
                    "spark.yarn.stagingDir",
                    folder.resolve("staging").toUri().toString());
            new WordsOnSpark(folder, "yarn", settings).check();
        }
    }
}
