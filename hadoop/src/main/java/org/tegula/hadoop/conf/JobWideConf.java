package org.tegula.hadoop.conf;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.mapred.JobConf;

/** The configuration of a job, whose tasks ask for the same groups of settings: those are looked for once. */
public final class JobWideConf extends JobConf {
    private final Map<String, Map<String, String>> groups = new ConcurrentHashMap<>();

    /** Without any setting, those of Hadoop's own files included. */
    public JobWideConf() {
        super(false);
    }

    /**
     * As it is now.
     *
     * @param submitted which may change later
     */
    public JobWideConf(JobConf submitted) {
        super(submitted);
    }

    @Override
    public Map<String, String> getPropsWithPrefix(String prefix) {
        return new HashMap<>(groups.computeIfAbsent(prefix, super::getPropsWithPrefix));
    }

    @Override
    public void set(String name, String value, String source) {
        super.set(name, value, source);
        groups.clear();
    }

    @Override
    public synchronized void reloadConfiguration() {
        super.reloadConfiguration();
        groups.clear();
    }

    @Override
    public synchronized void unset(String name) {
        super.unset(name);
        groups.clear();
    }
}
