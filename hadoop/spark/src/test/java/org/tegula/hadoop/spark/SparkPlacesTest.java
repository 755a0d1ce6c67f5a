package org.tegula.hadoop.spark;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Executors that Spark starts on this machine are places. */
@Timeout(600)
class SparkPlacesTest {
    @TempDir
    Path folder;

    @Test
    void executorsArePlaces() throws Exception {
        new WordsOnSpark(folder, "local-cluster[2,1,512]").check();
    }
}
