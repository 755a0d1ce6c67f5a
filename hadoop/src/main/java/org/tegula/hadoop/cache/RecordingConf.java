package org.tegula.hadoop.cache;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.conf.LayeredConf;

/** A job's configuration that notes the settings that are read. It also notes uses that it cannot follow, such as a copy. */
public final class RecordingConf extends LayeredConf {
    private final Map<String, String> values = new HashMap<>();
    private final Map<String, Map<String, String>> groups = new HashMap<>();
    private int noted;
    private boolean unclear;

    /**
     * A configuration that was asked for nothing yet.
     *
     * @param conf that it answers as
     */
    public RecordingConf(JobConf conf) {
        super(conf);
        unclear = false;
    }

    /**
     * Returns the settings that were read so far.
     *
     * @return null if that is not known
     */
    public synchronized ReadSettings settings() {
        return unclear ? null : new ReadSettings(new HashMap<>(values), new HashMap<>(groups));
    }

    @Override
    public synchronized String get(String name) {
        noted++;
        try {
            String value = super.get(name);
            note(name, value);
            return value;
        } finally {
            noted--;
        }
    }

    @Override
    public synchronized String get(String name, String otherwise) {
        get(name);
        noted++;
        try {
            return super.get(name, otherwise);
        } finally {
            noted--;
        }
    }

    @Override
    public synchronized String getRaw(String name) {
        get(name);
        noted++;
        try {
            return super.getRaw(name);
        } finally {
            noted--;
        }
    }

    @Override
    public synchronized Map<String, String> getPropsWithPrefix(String prefix) {
        noted++;
        try {
            Map<String, String> found = super.getPropsWithPrefix(prefix);
            groups.put(prefix, new HashMap<>(found));
            return found;
        } finally {
            noted--;
        }
    }

    private void note(String name, String value) {
        if (values != null) {
            values.put(name, value);
        }
    }

    /** All that is not asked for by a name comes here. */
    @Override
    protected synchronized Properties getProps() {
        if (noted == 0) {
            unclear = true;
        }
        return super.getProps();
    }
}
