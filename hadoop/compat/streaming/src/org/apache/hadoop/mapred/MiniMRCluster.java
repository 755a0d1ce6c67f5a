package org.apache.hadoop.mapred;

import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.MRConfig;

/**
 * Takes the place of Hadoop's class of this name, which starts a YARN cluster in the JVM of a test: jobs of a test that
 * asks for such a cluster run on the engine, over the file system that the test names.
 */
public final class MiniMRCluster {
    private final String files;

    /** Takes the arguments of Hadoop's class. {@code files} is a name node's address, with its scheme or without. */
    public MiniMRCluster(int trackers, String files, int directories) {
        this.files = files.contains("://") ? files : "hdfs://" + files;
    }

    /** Returns the configuration of a job for this cluster. */
    public JobConf createJobConf() {
        JobConf conf = new JobConf();
        FileSystem.setDefaultUri(conf, files);
        conf.set(MRConfig.FRAMEWORK_NAME, "tegula");
        return conf;
    }

    /** Stops nothing: the engine runs in the JVM of the test. */
    public void shutdown() {}
}
