package org.tegula.hadoop.fuzz;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.lib.IdentityMapper;
import org.apache.hadoop.mapred.lib.IdentityReducer;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;

/**
 * A random job, from sequence files of some keys and texts to such files. Its two halves are of either interface.
 *
 * @param keys of its input and output
 * @param mapper of either interface
 * @param combiner of either interface; null for none
 * @param reducer of either interface
 * @param sort the order of keys; null for that of their class
 * @param group the order by which keys are grouped; null for that by which they are sorted
 * @param combined the order by which keys are grouped for the combiner; null for that by which they are sorted
 * @param reduces how many, 0 for a map alone
 * @param compress whether its output is compressed
 */
record RandomJob(
        KeyKind keys,
        Class<?> mapper,
        Class<?> combiner,
        Class<?> reducer,
        Class<?> sort,
        Class<?> group,
        Class<?> combined,
        int reduces,
        boolean compress) {
    private static final List<Class<?>> MAPPERS = List.of(
            Mapper.class,
            NewPrograms.Reusing.class,
            NewPrograms.Passing.class,
            IdentityMapper.class,
            OldPrograms.Reusing.class,
            OldPrograms.Passing.class);
    private static final List<Class<?>> REDUCERS = List.of(
            Reducer.class,
            NewPrograms.KeyInLoop.class,
            NewPrograms.PromisedKeyInLoop.class,
            NewPrograms.CurrentKey.class,
            NewPrograms.PromisedCurrentKey.class,
            NewPrograms.Listing.class,
            NewPrograms.PromisedListing.class,
            NewPrograms.Twice.class,
            NewPrograms.PromisedTwice.class,
            IdentityReducer.class,
            OldPrograms.Listing.class,
            OldPrograms.PromisedListing.class);
    /** Those to which it does not matter whether there is a combiner. */
    private static final List<Class<?>> COMBINED = List.of(
            NewPrograms.Largest.class,
            NewPrograms.PromisedLargest.class,
            OldPrograms.Largest.class,
            OldPrograms.PromisedLargest.class);

    /** Returns a job of one reduce over texts, without random choices. */
    static RandomJob of(Class<?> reducer, Class<?> sort, Class<?> group) {
        return new RandomJob(KeyKind.TEXT, NewPrograms.Passing.class, null, reducer, sort, group, null, 1, false);
    }

    static RandomJob draw(KeyKind keys, Random random) {
        boolean combines = keys.isExact && random.nextInt(4) == 0;
        return new RandomJob(
                keys,
                any(MAPPERS, random),
                combines ? any(COMBINED, random) : null,
                any(combines ? COMBINED : REDUCERS, random),
                combines ? null : keys.drawOrder(random),
                combines ? null : keys.drawOrder(random),
                combines ? keys.drawOrder(random) : null,
                random.nextInt(8) == 0 ? 0 : random.nextInt(1, 4),
                random.nextInt(4) == 0);
    }

    private static <T> T any(List<T> all, Random random) {
        return all.get(random.nextInt(all.size()));
    }

    /** The job, for an engine. */
    Job job(Configuration conf, List<Path> from, Path to) throws IOException {
        Job job = Job.getInstance(conf);
        JobConf settings = (JobConf) job.getConfiguration();
        settings.setUseNewMapper(Mapper.class.isAssignableFrom(mapper));
        settings.setUseNewReducer(Reducer.class.isAssignableFrom(reducer));
        settings.setMapOutputKeyClass(keys.type);
        settings.setMapOutputValueClass(Text.class);
        settings.setOutputKeyClass(keys.type);
        settings.setOutputValueClass(Text.class);
        settings.setNumReduceTasks(reduces);
        map(job, settings);
        if (reduces > 0) {
            reduce(job, settings);
        }
        write(job, settings);
        FileInputFormat.setInputPaths(job, from.toArray(Path[]::new));
        FileOutputFormat.setOutputPath(job, to);
        FileOutputFormat.setCompressOutput(job, compress);
        return job;
    }

    private void map(Job job, JobConf settings) {
        if (settings.getUseNewMapper()) {
            settings.setClass(MRJobConfig.MAP_CLASS_ATTR, mapper, Mapper.class);
            job.setInputFormatClass(SequenceFileInputFormat.class);
        } else {
            settings.setMapperClass(mapper.asSubclass(org.apache.hadoop.mapred.Mapper.class));
            settings.setInputFormat(org.apache.hadoop.mapred.SequenceFileInputFormat.class);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // types of keys are known to the comparators alone
    private void reduce(Job job, JobConf settings) {
        if (settings.getUseNewReducer()) {
            settings.setClass(MRJobConfig.REDUCE_CLASS_ATTR, reducer, Reducer.class);
        } else {
            settings.setReducerClass(reducer.asSubclass(org.apache.hadoop.mapred.Reducer.class));
        }
        if (combiner != null && Reducer.class.isAssignableFrom(combiner)) {
            settings.setClass(MRJobConfig.COMBINE_CLASS_ATTR, combiner, Reducer.class);
        } else if (combiner != null) {
            settings.setCombinerClass(combiner.asSubclass(org.apache.hadoop.mapred.Reducer.class));
        }
        if (sort != null) {
            job.setSortComparatorClass((Class<? extends RawComparator>) sort);
        }
        if (group != null) {
            job.setGroupingComparatorClass((Class<? extends RawComparator>) group);
        }
        if (combined != null) {
            job.setCombinerKeyGroupingComparatorClass((Class<? extends RawComparator>) combined);
        }
    }

    private void write(Job job, JobConf settings) {
        if (reduces > 0 ? settings.getUseNewReducer() : settings.getUseNewMapper()) {
            job.setOutputFormatClass(SequenceFileOutputFormat.class);
        } else {
            settings.setOutputFormat(org.apache.hadoop.mapred.SequenceFileOutputFormat.class);
        }
    }

    @Override
    public String toString() {
        return String.join(
                " ",
                keys.toString(),
                "map " + mapper.getName(),
                "combine " + combiner,
                "reduce " + reducer.getName(),
                "sort " + sort,
                "group " + group,
                "combined by " + combined,
                "reduces " + reduces,
                "compress " + compress);
    }
}
