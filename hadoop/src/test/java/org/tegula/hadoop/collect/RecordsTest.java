package org.tegula.hadoop.collect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
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

    private static List<Integer> ranks(Records records) {
        List<Integer> ranks = new ArrayList<>();
        for (int rank = 0; rank < records.count(); rank++) {
            ranks.add(records.at(rank));
        }
        return ranks;
    }
}
