package org.tegula.hadoop.cache;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Set;

/**
 * A split, of either interface, with the class of the format that decodes it.
 *
 * @param split the split
 * @param format the class of the input format
 */
public record InputPart(Object split, Class<?> format) {
    /** How {@code MultipleInputs} of both interfaces wraps splits; the classes are not public. */
    private static final Set<String> TAGGED = Set.of(
            "org.apache.hadoop.mapred.lib.TaggedInputSplit", "org.apache.hadoop.mapreduce.lib.input.TaggedInputSplit");

    /**
     * Returns the split that a job's task was given, taken out of the wrapper of {@code MultipleInputs}.
     *
     * @param split as the task has it
     * @param format of the job
     * @return the split and the format that decode the pairs
     */
    public static InputPart of(Object split, Class<?> format) {
        if (!TAGGED.contains(split.getClass().getName())) {
            return new InputPart(split, format);
        }
        return new InputPart(get(split, "getInputSplit"), (Class<?>) get(split, "getInputFormatClass"));
    }

    /**
     * The mapper that {@code MultipleInputs} has chosen for a split.
     *
     * @param split as the task has it
     * @return its class; that of objects if the split names none
     */
    public static Class<?> mapper(Object split) {
        return TAGGED.contains(split.getClass().getName()) ? (Class<?>) get(split, "getMapperClass") : Object.class;
    }

    /**
     * Whether the objects that a reader of the {@code mapred} interface has filled may refer to what it fills again for its next
     * pair.
     *
     * @return false for formats of Hadoop's own that are known
     */
    public boolean lends() {
        return !SplitSource.isOfHadoop(format);
    }

    private static Object get(Object split, String name) {
        try {
            Method method = split.getClass().getMethod(name);
            method.setAccessible(true);
            return method.invoke(split);
        } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException("Hadoop's " + split.getClass().getName() + " has no " + name, e);
        }
    }
}
