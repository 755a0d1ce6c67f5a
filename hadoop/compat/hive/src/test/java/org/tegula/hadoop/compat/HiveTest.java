package org.tegula.hadoop.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hive on MapReduce selects the same rows and writes the same tables on both engines. */
class HiveTest {
    @TempDir
    Path folder;

    @Test
    void runsStatementsOfManyJobs() throws Exception {
        Sales.write(folder);
        Path statements = Files.copy(Path.of("src/test/resources/sales.sql"), folder.resolve("sales.sql"));

        var ours = Framework.compare(folder, 15, List.of(HiveJobs.class.getName(), statements.toString()));

        assertEquals(50, ours.files().get("exported/000000_0").lines().count());
        assertTrue(ours.files().keySet().stream().anyMatch(name -> name.startsWith("external/by_town/town=town6/")));
    }
}
