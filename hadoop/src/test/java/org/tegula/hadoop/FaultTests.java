package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.engine.Engine;

/** The common part of tests of faults: a small job to be spoiled, and a check that another one runs on the same engine afterwards. */
abstract class FaultTests {
    @TempDir
    Path folder;

    Configuration conf;
    Path out;

    @BeforeEach
    void writeInput() throws IOException {
        conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        out = folder.resolve("out");
        Files.writeString(folder.resolve("in.txt"), "one two two\nthree three three\n");
    }

    @AfterEach
    void theEngineIsAsBefore() throws Exception {
        assertEquals(0, Engine.shared(conf).memory().usedBytes());
        Job next = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve("next"));
        assertTrue(next.waitForCompletion(false));
        assertEquals("one\t1\nthree\t3\ntwo\t2\n", Files.readString(folder.resolve("next/part-r-00000")));
    }

    final Job job() throws IOException {
        return Jobs.wordCount(conf, folder.resolve("in.txt"), out);
    }
}
