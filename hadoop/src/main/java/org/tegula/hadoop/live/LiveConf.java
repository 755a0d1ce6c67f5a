package org.tegula.hadoop.live;

import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.mapred.JobConf;
import org.tegula.hadoop.conf.LayeredConf;

/**
 * The configuration with which Hadoop's own iterators of a reduce make new objects for every pair, or find them: under
 * the classes {@link Key} and {@link Value} they get a {@link LiveSerialization}. A program never sees it.
 */
public final class LiveConf extends LayeredConf {
    private final JobConf real;
    private final LivePair pair;
    private final KnownSize known;
    private final GroupKey groupKey;

    /** Represents the job's class of keys. */
    public static final class Key {
        private Key() {}
    }

    /** Represents the job's class of values. */
    public static final class Value {
        private Value() {}
    }

    /**
     * For one reduce.
     *
     * @param real configuration of the task
     * @param pair the one that the reduce is at; null if records have all of every value
     * @param known takes the sizes of values that the reduce is handed
     * @param groupKey the key that changes within a group; null if none does
     */
    public LiveConf(JobConf real, LivePair pair, KnownSize known, GroupKey groupKey) {
        super(real);
        this.real = real;
        this.pair = pair;
        this.known = known;
        this.groupKey = groupKey;
        set(CommonConfigurationKeys.IO_SERIALIZATIONS_KEY, LiveSerialization.class.getName());
    }

    JobConf real() {
        return real;
    }

    LivePair pair() {
        return pair;
    }

    KnownSize known() {
        return known;
    }

    GroupKey groupKey() {
        return groupKey;
    }
}
