package org.tegula.hadoop;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRConfig;

/** The engine under test, and the reference. */
public enum Engines {
    LOCAL("local"),
    TEGULA("tegula");

    private final String framework;

    Engines(String framework) {
        this.framework = framework;
    }

    /** Returns a configuration with all temporary files in a folder, and without waiting between polls. */
    public Configuration conf(Path temporary) {
        Configuration conf = new Configuration();
        settings(temporary).forEach(conf::set);
        return conf;
    }

    /** The same as options of a command line. */
    public List<String> options(Path temporary) {
        List<String> options = new ArrayList<>();
        settings(temporary).forEach((name, value) -> {
            options.add("-D");
            options.add(name + "=" + value);
        });
        return options;
    }

    private Map<String, String> settings(Path temporary) {
        return Map.of(
                MRConfig.FRAMEWORK_NAME,
                framework,
                "hadoop.tmp.dir",
                temporary.resolve(framework).toString(),
                Job.PROGRESS_MONITOR_POLL_INTERVAL_KEY,
                "10",
                Job.COMPLETION_POLL_INTERVAL_KEY,
                "10");
    }
}
