package org.tegula.hadoop.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code pig -x local} writes the same files on both engines. */
class PigTest {
    @TempDir
    Path folder;

    @Test
    void runsAScriptOfManyJobs() throws Exception {
        Sales.write(folder);
        Path script = Files.copy(Path.of("src/test/resources/sales.pig"), folder.resolve("sales.pig"));

        // Where ORDER cuts its partitions follows from a sample that Pig draws anew each time.
        var ours = Framework.compare(
                folder, 15, List.of("org.apache.pig.Main", "-x", "local", "-f", script.toString()), "ranked");

        assertEquals(5, ours.files().get("best/part-r-00000").lines().count());
    }
}
