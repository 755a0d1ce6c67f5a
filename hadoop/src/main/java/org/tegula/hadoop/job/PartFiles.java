package org.tegula.hadoop.job;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.tegula.hadoop.engine.Slots;

/**
 * Input that another engine has made, with a file for each partition of this job: {@code part-00000} and so on, as many in a
 * folder as the job has reduces, and none of them cut. Its maps run where the partitions belong. So pairs that a map leaves in
 * their partition stay at their place from the first job on; the paper on M3R moves the data for that (section 6.1.1). If the
 * files have other partitions, the output is the same, and more pairs move.
 */
final class PartFiles {
    private static final Pattern NAME = Pattern.compile("part-(?:[mr]-)?([0-9]{5,9})(?:\\..*)?");

    private final int partitions;
    /** The splits of a folder, by the numbers of their files; -1 for a file that there is none of. */
    private final Map<Path, int[]> folders = new HashMap<>();

    private final Set<Path> unfit = new HashSet<>();

    PartFiles(int partitions) {
        this.partitions = partitions;
    }

    /** Takes a split of a file; others of the job may follow. */
    void add(Path file, long start, int split) {
        Path folder = file.getParent();
        Matcher name = NAME.matcher(file.getName());
        int number = name.matches() ? Integer.parseInt(name.group(1)) : partitions;
        int[] splits = folders.computeIfAbsent(folder, none -> {
            int[] all = new int[partitions];
            Arrays.fill(all, -1);
            return all;
        });
        if (start != 0 || number >= partitions || splits[number] >= 0) {
            unfit.add(folder);
        } else {
            splits[number] = split;
        }
    }

    /** Sets the slots where the splits of files of partitions belong. */
    void place(int[] homes, Slots slots) {
        folders.keySet().removeAll(unfit);
        for (int[] splits : folders.values()) {
            if (Arrays.stream(splits).allMatch(split -> split >= 0)) {
                for (int partition = 0; partition < partitions; partition++) {
                    homes[splits[partition]] = slots.slotOf(partition);
                }
            }
        }
    }
}
