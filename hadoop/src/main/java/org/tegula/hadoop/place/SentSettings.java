package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.conf.JobWideConf;

/**
 * Settings on their way to a place: what differs from others that the place has, a job's from those of the engine. Hadoop's own
 * form of a configuration compresses the source of each setting by itself, which takes longer than a tiny job. Sources are not
 * sent.
 *
 * @param changed values that the others do not have, by name
 * @param removed names that the others alone have
 */
record SentSettings(Map<String, String> changed, List<String> removed) {
    /** All settings of a configuration as they are now, references to others not resolved. */
    static Map<String, String> all(Configuration conf) {
        Map<String, String> all = new HashMap<>();
        for (Map.Entry<String, String> each : conf) {
            all.put(each.getKey(), each.getValue());
        }
        return all;
    }

    static SentSettings of(Map<String, String> others, Configuration conf) {
        Map<String, String> changed = new HashMap<>();
        Set<String> removed = new HashSet<>(others.keySet());
        for (Map.Entry<String, String> each : conf) {
            removed.remove(each.getKey());
            if (!each.getValue().equals(others.get(each.getKey()))) {
                changed.put(each.getKey(), each.getValue());
            }
        }
        return new SentSettings(changed, List.copyOf(removed));
    }

    /** Returns the settings as they were, in a configuration of their own. */
    JobConf over(JobConf others) {
        JobConf conf = new JobWideConf(others);
        if (!removed.isEmpty()) {
            remove(others, conf);
        }
        changed.forEach(conf::set);
        return conf;
    }

    /** Hadoop takes away a setting under all of its names, of which only one may be meant. */
    private void remove(JobConf others, JobConf conf) {
        removed.forEach(conf::unset);
        Set<String> gone = new HashSet<>(removed);
        for (Map.Entry<String, String> each : others) {
            if (!gone.contains(each.getKey()) && conf.getRaw(each.getKey()) == null) {
                conf.set(each.getKey(), each.getValue());
            }
        }
    }

    void write(DataOutput out) throws IOException {
        out.writeInt(changed.size());
        for (Map.Entry<String, String> each : changed.entrySet()) {
            Text.writeString(out, each.getKey());
            Text.writeString(out, each.getValue());
        }
        out.writeInt(removed.size());
        for (String each : removed) {
            Text.writeString(out, each);
        }
    }

    static SentSettings read(Message in) throws IOException {
        Map<String, String> changed = new HashMap<>();
        for (int left = in.count(1); left > 0; left--) {
            changed.put(in.text(), in.text());
        }
        List<String> removed = new ArrayList<>();
        for (int left = in.count(1); left > 0; left--) {
            removed.add(in.text());
        }
        return new SentSettings(changed, removed);
    }
}
