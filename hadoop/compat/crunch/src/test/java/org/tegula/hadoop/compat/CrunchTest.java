package org.tegula.hadoop.compat;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A Crunch pipeline writes the same files on both engines. */
class CrunchTest {
    @TempDir
    Path folder;

    @Test
    void runsAPipelineOfManyJobs() throws Exception {
        Sales.write(folder);

        var ours = Framework.compare(folder, 5, List.of(SalesPipeline.class.getName()));

        assertTrue(ours.files().get("often/part-r-00000").lines().count() > 10);
    }
}
