package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The jobs that the script runs to archive classes succeed, and leave no files. */
class RehearsalTest {
    @TempDir
    Path folder;

    private static long left() throws IOException {
        try (Stream<Path> all = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return all.filter(each -> each.getFileName().toString().startsWith("tegula-rehearsal-"))
                    .count();
        }
    }

    @Test
    void runsItsJobs() throws Exception {
        long before = left();
        try (ExitTrap exits = new ExitTrap()) {
            String[] options = {"-Dmapreduce.framework.name=tegula", "-Dhadoop.tmp.dir=" + folder};
            assertEquals(0, exits.run(() -> {
                Rehearsal.main(options);
            }));
        }
        assertEquals(before, left());
    }
}
