package org.tegula.hadoop.compat;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Mahout's recommender and its clustering of texts write the same files on both engines. */
class MahoutTest {
    @TempDir
    Path folder;

    @Test
    void recommendsAndClusters() throws Exception {
        Path texts = Files.createDirectories(folder.resolve("in/texts"));
        try (Stream<Path> docs = Files.list(Path.of("..", "..", "..", "docs"))) {
            for (Path each : (Iterable<Path>)
                    docs.filter(path -> path.toString().endsWith(".md")).sorted()::iterator) {
                Files.copy(each, texts.resolve(each.getFileName()));
            }
        }
        Random random = new Random(5);
        StringBuilder ratings = new StringBuilder();
        for (int user = 0; user < 100; user++) {
            for (int i = 0; i < 20; i++) {
                ratings.append("%d,%d,%d%n".formatted(user, random.nextInt(60), 1 + random.nextInt(5)));
            }
        }
        Files.writeString(folder.resolve("in/ratings"), ratings);

        var ours = Framework.compare(folder, 15, List.of(MahoutJobs.class.getName()));

        assertTrue(ours.files().get("recommended/part-r-00000").lines().count() > 90);
    }
}
