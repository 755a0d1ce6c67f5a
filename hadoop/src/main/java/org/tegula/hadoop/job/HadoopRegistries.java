package org.tegula.hadoop.job;

import java.lang.reflect.Field;
import java.util.Map;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.io.WritableFactories;
import org.apache.hadoop.io.WritableName;
import org.apache.hadoop.util.ReflectionUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Maps in which Hadoop remembers classes for as long as the JVM lives. It was made for JVMs that run one job; where many
 * follow each other, every job's classes and static state would stay, and names that one has given be seen by others.
 * Hadoop has no calls to take anything out.
 */
final class HadoopRegistries {
    private static final Logger LOG = LoggerFactory.getLogger(HadoopRegistries.class);

    private HadoopRegistries() {}

    /** Takes the classes of a job out. */
    static void forget(ClassLoader loader) {
        forget(loader, ReflectionUtils.class, "CONSTRUCTOR_CACHE");
        forget(loader, WritableComparator.class, "comparators");
        forget(loader, WritableFactories.class, "CLASS_TO_FACTORY");
        forget(loader, WritableName.class, "NAME_TO_CLASS");
        forget(loader, WritableName.class, "CLASS_TO_NAME");
    }

    private static void forget(ClassLoader loader, Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            Map<?, ?> map = (Map<?, ?>) field.get(null);
            synchronized (owner) { // as its own methods do, where the map is a plain one
                map.keySet().removeIf(each -> isOf(loader, each));
                map.values().removeIf(each -> isOf(loader, each));
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.debug("{} of {} cannot be reached: classes of jobs stay there", name, owner, e);
        }
    }

    private static boolean isOf(ClassLoader loader, Object entry) {
        return entry instanceof Class<?> type && type.getClassLoader() == loader;
    }
}
