package org.tegula.hadoop.job;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.Arrays;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tegula.hadoop.engine.Slots;

/** Maps over files of partitions belong where the partitions do, if there is a file for each of them. */
class PartFilesTest {
    @ParameterizedTest
    @CsvSource({
        // The files of a folder, and the places of their maps among two; x for any.
        "part-r-00000 part-r-00001 part-r-00002 part-r-00003, 0 1 0 1",
        "part-r-00003 part-r-00001 part-r-00000 part-r-00002, 1 1 0 0",
        "part-00000 part-00001 part-00002 part-00003, 0 1 0 1",
        "part-m-00000.gz part-m-00001.gz part-m-00002.gz part-m-00003.gz, 0 1 0 1",
        "part-r-00000 part-r-00001 part-r-00002, x x x",
        "part-r-00000 part-r-00001 part-r-00002 part-r-00004, x x x x",
        "part-r-00000 part-r-00001 part-r-00002 part-r-00003 more, x x x x x",
        "part-r-00000 part-r-00001 part-r-00002 part-r-00003 part-r-00003, x x x x x",
        "text0 text1 text2 text3, x x x x"
    })
    void belongToTheirPartitions(String names, String places) {
        Slots slots = new Slots(2, 3);
        PartFiles parts = new PartFiles(4);
        String[] files = names.split(" ");
        for (int i = 0; i < files.length; i++) {
            parts.add(new Path("/in/" + files[i]), 0, i);
        }
        int[] homes = new int[files.length];
        Arrays.fill(homes, Slots.ANYWHERE);
        parts.place(homes, slots);
        String[] found = Arrays.stream(homes)
                .mapToObj(home -> home == Slots.ANYWHERE ? "x" : Integer.toString(slots.placeOf(home)))
                .toArray(String[]::new);
        assertArrayEquals(places.split(" "), found);
    }
}
