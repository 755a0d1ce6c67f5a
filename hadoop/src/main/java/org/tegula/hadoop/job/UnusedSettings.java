package org.tegula.hadoop.job;

import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Settings of Hadoop that change a cluster's behaviour and that this engine ignores: a job that sets one gets a warning. */
final class UnusedSettings {
    private static final Logger LOG = LoggerFactory.getLogger(UnusedSettings.class);

    private static final List<String> NAMES = List.of(
            MRJobConfig.MAP_OUTPUT_COMPRESS,
            MRJobConfig.MAP_OUTPUT_COLLECTOR_CLASS_ATTR,
            MRConfig.SHUFFLE_CONSUMER_PLUGIN,
            MRConfig.SHUFFLE_SSL_ENABLED_KEY,
            "mapred.child.java.opts",
            JobConf.MAPRED_MAP_TASK_JAVA_OPTS,
            JobConf.MAPRED_REDUCE_TASK_JAVA_OPTS,
            JobConf.MAPRED_MAP_TASK_ENV,
            JobConf.MAPRED_REDUCE_TASK_ENV,
            MRJobConfig.MAP_MEMORY_MB,
            MRJobConfig.REDUCE_MEMORY_MB);

    private static final Set<List<String>> TOLD = ConcurrentHashMap.newKeySet();

    private UnusedSettings() {}

    /** Returns the names of those that a job sets to another value than Hadoop's default. */
    static List<String> of(Configuration conf) {
        Configuration defaults = new Configuration(false);
        defaults.addResource("mapred-default.xml");
        return NAMES.stream()
                .filter(name -> conf.get(name) != null && !Objects.equals(conf.get(name), defaults.get(name)))
                .toList();
    }

    /** Warns of each combination once, and refuses a job with a setting that is not safe to ignore. */
    static void check(String job, Configuration conf) throws IOException {
        if (conf.getBoolean(MRJobConfig.MR_ENCRYPTED_INTERMEDIATE_DATA, false)) {
            throw new IOException(MRJobConfig.MR_ENCRYPTED_INTERMEDIATE_DATA
                    + " is set, and this engine does not encrypt spilled data: set it to false, or run the job on"
                    + " Hadoop's own cluster");
        }
        List<String> unused = of(conf);
        if (!unused.isEmpty() && TOLD.add(unused)) {
            LOG.warn("{} sets properties that this engine ignores: {}", job, String.join(", ", unused));
        }
    }
}
