package org.tegula.hadoop.run;

import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * The comparators of a job's keys, for one task each. A {@link WritableComparator} that reads keys as objects has one pair of
 * them, so two threads must not share it. Hadoop makes a comparator that the job names anew each time, but hands out the same
 * one again and again where the class of the keys has registered it: there every task has a JVM of its own.
 */
@SuppressWarnings("rawtypes") // types of keys are known to the comparators alone
public final class KeyOrders {
    /** Fields of these types are for the work of a comparator, and no part of its order. */
    private static final Set<Class<?>> BUFFERS = Set.of(DataInputBuffer.class, DataOutputBuffer.class);

    private KeyOrders() {}

    /**
     * The order by which keys are sorted.
     *
     * @param conf of the job
     * @return a comparator for one thread at a time
     */
    public static RawComparator sort(JobConf conf) {
        return conf.get(MRJobConfig.KEY_COMPARATOR) == null ? ofClass(conf) : conf.getOutputKeyComparator();
    }

    /**
     * The order by which a reducer's keys are grouped.
     *
     * @param conf of the job
     * @return a comparator for one thread at a time
     */
    public static RawComparator groups(JobConf conf) {
        return conf.get(MRJobConfig.GROUP_COMPARATOR_CLASS) == null
                ? sort(conf)
                : conf.getOutputValueGroupingComparator();
    }

    /**
     * The order by which a combiner's keys are grouped.
     *
     * @param conf of the job
     * @return a comparator for one thread at a time
     */
    public static RawComparator combinerGroups(JobConf conf) {
        return conf.get(MRJobConfig.COMBINER_GROUP_COMPARATOR_CLASS) == null
                ? sort(conf)
                : conf.getCombinerKeyGroupingComparator();
    }

    private static RawComparator ofClass(JobConf conf) {
        WritableComparator found = registered(conf.getMapOutputKeyClass().asSubclass(WritableComparable.class));
        if (found == null || comparesBytes(found.getClass())) {
            return conf.getOutputKeyComparator();
        }
        return hasOneForm(found.getClass()) ? again(found, conf) : new Locked(found, conf);
    }

    /**
     * The comparator that a class of keys has registered, or null. Hadoop would give it the settings that it is asked with, while
     * other tasks may be comparing: so it is asked without.
     */
    private static WritableComparator registered(Class<? extends WritableComparable> keys) {
        try {
            WritableComparator found = WritableComparator.get(keys);
            return found == WritableComparator.get(keys) ? found : null;
        } catch (RuntimeException e) { // none is registered, and keys for a new one cannot be made without settings
            return null;
        }
    }

    /** Whether a comparator is one of Hadoop's for its own types: they look at bytes only, and any threads may share them. */
    private static boolean comparesBytes(Class<?> type) {
        return type != WritableComparator.class
                && type.getPackage() == WritableComparator.class.getPackage()
                && type.getClassLoader() == WritableComparator.class.getClassLoader();
    }

    /**
     * Whether every instance was made without arguments, and has nothing that could be set afterwards. Of others, a new one may
     * order keys in another way.
     */
    private static boolean hasOneForm(Class<?> type) {
        return takesNoArguments(type)
                && Stream.<Class<?>>iterate(type, each -> each != WritableComparator.class, Class::getSuperclass)
                        .allMatch(KeyOrders::hasOnlyBuffers);
    }

    private static boolean hasOnlyBuffers(Class<?> type) {
        return Arrays.stream(type.getDeclaredFields())
                .allMatch(each -> Modifier.isStatic(each.getModifiers()) || BUFFERS.contains(each.getType()));
    }

    private static boolean takesNoArguments(Class<?> type) {
        return Arrays.stream(type.getDeclaredConstructors())
                .filter(each -> !each.isSynthetic())
                .allMatch(each -> each.getParameterCount() == 0);
    }

    private static RawComparator again(WritableComparator registered, JobConf conf) {
        try {
            return ReflectionUtils.newInstance(registered.getClass(), conf);
        } catch (RuntimeException e) { // it cannot be made here, or only once
            return new Locked(registered, conf);
        }
    }

    /**
     * A comparator that tasks share, for one thread after the other. It may take its order from the settings of a job, so each task
     * gives it its own.
     */
    private record Locked(WritableComparator shared, JobConf conf) implements RawComparator<Object> {
        @Override
        public int compare(byte[] left, int leftAt, int leftLength, byte[] right, int rightAt, int rightLength) {
            synchronized (shared) {
                configure();
                return shared.compare(left, leftAt, leftLength, right, rightAt, rightLength);
            }
        }

        @Override
        public int compare(Object left, Object right) {
            synchronized (shared) {
                configure();
                return shared.compare(left, right);
            }
        }

        private void configure() {
            if (shared.getConf() != conf) {
                ReflectionUtils.setConf(shared, conf);
            }
        }
    }
}
