package org.tegula.hadoop.collect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.util.IndexedSortable;
import org.apache.hadoop.util.IndexedSorter;
import org.apache.hadoop.util.Progressable;
import org.apache.hadoop.util.QuickSort;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tegula.hadoop.memory.Arena;

/** Keys that differ come in the same order whether they are sorted as numbers first or by Hadoop's algorithm. */
class RecordsTest {
    @ParameterizedTest
    @CsvSource({"0, 1", "1, 1", "500, 1", "5000, 1", "5000, 7"})
    void sortsDistinctKeysAsHadoopDoes(int count, int partitions) throws Exception {
        Random random = new Random(count);
        Set<WritableComparable<?>> texts = new LinkedHashSet<>();
        Set<WritableComparable<?>> numbers = new LinkedHashSet<>();
        while (texts.size() < count) {
            // Many begin with the same eight bytes, or are the beginning of another.
            String start = random.nextBoolean() ? "international" : "";
            texts.add(new Text(start + Integer.toString(random.nextInt(1 << 20), 36)));
        }
        while (numbers.size() < count) {
            numbers.add(new IntWritable(random.nextInt()));
        }
        compare(Text.class, texts, partitions);
        compare(IntWritable.class, numbers, partitions);
    }

    private static void compare(
            Class<? extends WritableComparable<?>> type, Set<WritableComparable<?>> keys, int partitions)
            throws Exception {
        Arena arena = new Arena(1);
        Records fast = new Records(WritableComparator.get(type, new Configuration(false)));
        Records plain = new Records(WritableComparator.get(type, new Configuration(false)));
        for (Writable key : keys) {
            int start = arena.length();
            key.write(arena);
            int partition = Math.floorMod(key.hashCode(), partitions);
            fast.add(start, arena.length() - start, partition);
            plain.add(start, arena.length() - start, partition);
        }
        fast.sortDistinct(arena.bytes(), new QuickSort());
        plain.sort(arena.bytes(), new QuickSort());
        assertEquals(ranks(plain), ranks(fast));
    }

    /** Calls no two keys equal, and so contradicts itself. */
    private static final class NeverEqual extends WritableComparator {
        NeverEqual() {
            super(IntWritable.class);
        }

        @Override
        public int compare(byte[] left, int start, int length, byte[] right, int rightStart, int rightLength) {
            return readInt(left, start) <= readInt(right, rightStart) ? -1 : 1;
        }
    }

    /** The same as {@link QuickSort}, of another class: then the engine must not use another algorithm. */
    private static final class Hadoops implements IndexedSorter {
        private final QuickSort sorter = new QuickSort();

        @Override
        public void sort(IndexedSortable what, int left, int right) {
            sorter.sort(what, left, right);
        }

        @Override
        public void sort(IndexedSortable what, int left, int right, Progressable reporter) {
            sorter.sort(what, left, right, reporter);
        }
    }

    /** Numbers that ascend in runs: all of them once, or some twice, in one run or in many. */
    @ParameterizedTest
    @CsvSource({
        "0, 1, 1, false",
        "1, 1, 1, false",
        "1000, 1, 1, false",
        "1000, 1, 4, false",
        "1000, 2, 1, false",
        "1003, 7, 3, false",
        "1003, 30, 3, false",
        "1003, 400, 3, false",
        "1000, 1, 1, true",
        "1003, 7, 3, true"
    })
    void sortsRunsAsHadoopDoes(int count, int runs, int partitions, boolean repeats) throws Exception {
        List<Integer> numbers = new ArrayList<>();
        for (int run = 0; run < runs; run++) {
            for (int i = run; i < count; i += runs) {
                numbers.add(repeats && i % 5 == 0 ? i - i % 100 : i);
            }
        }
        for (RawComparator<?> order : List.of(
                WritableComparator.get(IntWritable.class, new Configuration(false)),
                new WritableComparator(IntWritable.class, true) {},
                new NeverEqual())) {
            Arena arena = new Arena(1);
            Records fast = new Records(order);
            Records plain = new Records(order);
            for (int number : numbers) {
                int start = arena.length();
                arena.writeInt(number);
                fast.add(start, Integer.BYTES, number / 7 % partitions);
                plain.add(start, Integer.BYTES, number / 7 % partitions);
            }
            fast.sort(arena.bytes(), new QuickSort());
            plain.sort(arena.bytes(), new Hadoops());
            assertEquals(ranks(plain), ranks(fast), order.getClass().getName());
        }
    }

    private static List<Integer> ranks(Records records) {
        List<Integer> ranks = new ArrayList<>();
        for (int rank = 0; rank < records.count(); rank++) {
            ranks.add(records.at(rank));
        }
        return ranks;
    }
}
