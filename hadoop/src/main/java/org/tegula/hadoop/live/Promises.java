package org.tegula.hadoop.live;

import java.util.Set;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapRunner;
import org.apache.hadoop.mapred.SkipBadRecords;
import org.apache.hadoop.mapred.lib.IdentityMapper;
import org.apache.hadoop.mapred.lib.IdentityReducer;
import org.apache.hadoop.mapred.lib.InverseMapper;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.tegula.hadoop.api.ImmutableOutput;
import org.tegula.hadoop.cache.InputPart;

/** Which classes of a job promise to leave pairs as they are. */
public final class Promises {
    /**
     * Hadoop's own that only pass pairs on. The mappers of {@code mapreduce} are not among them: their readers hand out the
     * same objects again and again, and who has promised nothing may not be able to copy them. Those of {@code mapred} are
     * only where their reader fills new objects.
     */
    private static final Set<Class<?>> KNOWN =
            Set.of(Reducer.class, IdentityMapper.class, InverseMapper.class, IdentityReducer.class);

    private static final Set<Class<?>> DELEGATING = Set.of(
            org.apache.hadoop.mapreduce.lib.input.DelegatingMapper.class,
            org.apache.hadoop.mapred.lib.DelegatingMapper.class);

    private Promises() {}

    private static boolean isMadeBy(Class<?> type) {
        return ImmutableOutput.class.isAssignableFrom(type) || KNOWN.contains(type);
    }

    /**
     * Returns whether the job has a {@code MapRunnable} of its own: it reads the records by itself, into objects of its own,
     * and may have no mapper. If it makes the promise, that is for its emitted pairs.
     *
     * @param conf of the job
     * @return false for Hadoop's own runner, and for jobs whose mapper is of {@code mapreduce}
     */
    public static boolean hasOwnRunner(JobConf conf) {
        return !conf.getUseNewMapper() && conf.getMapRunnerClass() != MapRunner.class;
    }

    private static Class<?> mapper(JobConf conf) {
        return conf.getUseNewMapper() ? conf.getClass(MRJobConfig.MAP_CLASS_ATTR, Mapper.class) : conf.getMapperClass();
    }

    /**
     * Returns whether the mapper of a split makes the promise, and its runner does not break it.
     *
     * @param conf of the job
     * @param split that the mapper is to work on
     * @return false if pairs must be copied
     */
    public static boolean isMadeByMapper(JobConf conf, Object split) {
        if (hasOwnRunner(conf)) {
            return isMadeBy(conf.getMapRunnerClass());
        }
        if (!conf.getUseNewMapper() && SkipBadRecords.getMapperMaxSkipRecords(conf) != 0) {
            return false;
        }
        Class<?> ofJob = mapper(conf);
        Class<?> mapper = DELEGATING.contains(ofJob) ? InputPart.mapper(split) : ofJob;
        return ImmutableOutput.class.isAssignableFrom(mapper) || KNOWN.contains(mapper) && !lends(conf, split);
    }

    private static boolean lends(JobConf conf, Object split) {
        return InputPart.of(split, conf.getInputFormat().getClass()).lends();
    }

    /**
     * Whether the reducer makes the promise.
     *
     * @param conf of the job
     * @return false if pairs must be copied
     */
    public static boolean isMadeByReducer(JobConf conf) {
        return isMadeBy(
                conf.getUseNewReducer()
                        ? conf.getClass(MRJobConfig.REDUCE_CLASS_ATTR, Reducer.class)
                        : conf.getReducerClass());
    }

    /**
     * Whether values may go from maps to reduces as objects.
     *
     * @param conf of the job
     * @return false if all of them are serialised
     */
    public static boolean passObjects(JobConf conf) {
        boolean combines = conf.get(MRJobConfig.COMBINE_CLASS_ATTR) != null || conf.getCombinerClass() != null;
        Class<?> mapper = hasOwnRunner(conf) ? conf.getMapRunnerClass() : mapper(conf);
        return !combines && isMadeByReducer(conf) && (isMadeBy(mapper) || DELEGATING.contains(mapper));
    }
}
