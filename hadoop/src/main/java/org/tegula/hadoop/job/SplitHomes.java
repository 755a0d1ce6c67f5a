package org.tegula.hadoop.job;

import java.io.IOException;
import java.util.Arrays;
import java.util.Set;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.api.DelegatingSplit;
import org.tegula.hadoop.api.PlacedSplit;
import org.tegula.hadoop.cache.CachedSplit;
import org.tegula.hadoop.cache.InputPart;
import org.tegula.hadoop.engine.Slots;
import org.tegula.hadoop.task.JobResources;

/**
 * The slots where the splits of a job belong: those that work on the partitions that splits name, or that have read or
 * written their pairs before, and with several places those of the partitions that files were made for. It is a hint: a task
 * is told everything that matters when it reads its split.
 */
final class SplitHomes {
    private static final Logger LOG = LoggerFactory.getLogger(SplitHomes.class);

    private static final Set<Class<?>> FILE_SPLITS =
            Set.of(org.apache.hadoop.mapred.FileSplit.class, org.apache.hadoop.mapreduce.lib.input.FileSplit.class);

    private SplitHomes() {}

    static int[] of(JobSplit.TaskSplitMetaInfo[] splits, JobResources job, Slots slots) {
        int[] homes = new int[splits.length];
        Arrays.fill(homes, Slots.ANYWHERE);
        int partitions = job.conf().getNumReduceTasks();
        PartFiles parts =
                slots.places() > 1 && partitions > 0 && partitions <= splits.length ? new PartFiles(partitions) : null;
        try {
            for (int i = 0; i < splits.length; i++) {
                homes[i] = home(splits[i].getSplitIndex(), i, job, slots, parts);
            }
            if (parts != null) {
                parts.place(homes, slots);
            }
        } catch (IOException | ClassNotFoundException | RuntimeException e) {
            LOG.debug("The tasks that read the splits will report their faults", e);
        }
        return homes;
    }

    private static int home(JobSplit.TaskSplitIndex place, int number, JobResources job, Slots slots, PartFiles parts)
            throws IOException, ClassNotFoundException {
        JobConf conf = job.conf();
        Class<?> type = conf.getClassByName(job.splits().className(place, conf));
        if (parts == null && job.cache().isEmpty() && FILE_SPLITS.contains(type)) {
            return Slots.ANYWHERE;
        }
        InputPart part = InputPart.of(job.splits().read(place, conf, length -> {}), format(conf));
        Object split = part.split();
        if (!(split instanceof PlacedSplit) && split instanceof DelegatingSplit<?> wrapper) {
            split = wrapper.getDelegate();
        }
        if (split instanceof PlacedSplit placed) {
            return slots.slotOf(placed.getPartition());
        }
        int home = CachedSplit.home(job.cache(), part, conf);
        if (home == Slots.ANYWHERE && parts != null) {
            add(split, number, parts);
        }
        return home;
    }

    private static void add(Object split, int number, PartFiles parts) {
        if (split instanceof org.apache.hadoop.mapred.FileSplit file) {
            parts.add(file.getPath(), file.getStart(), number);
        } else if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit file) {
            parts.add(file.getPath(), file.getStart(), number);
        }
    }

    private static Class<?> format(JobConf conf) throws ClassNotFoundException {
        return conf.getUseNewMapper()
                ? new org.apache.hadoop.mapreduce.task.JobContextImpl(conf, null).getInputFormatClass()
                : conf.getInputFormat().getClass();
    }
}
