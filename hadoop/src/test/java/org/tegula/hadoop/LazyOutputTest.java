package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.output.LazyOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tasks that write nothing to a lazy output create no file. */
@Timeout(60)
class LazyOutputTest {
    @TempDir
    Path folder;

    @Test
    void onlyTasksThatWriteHaveFiles() throws Exception {
        Map<String, String> right = run(Engines.LOCAL);
        assertTrue(right.size() < 8, right::toString);
        assertEquals(right, run(Engines.TEGULA));
    }

    private Map<String, String> run(Engines engine) throws Exception {
        Path in = Files.writeString(folder.resolve("in.txt"), "one two\n");
        Path out = folder.resolve(engine.name());
        Job job = Jobs.wordCount(engine.conf(folder.resolve("tmp")), in, out);
        job.setNumReduceTasks(5);
        LazyOutputFormat.setOutputFormatClass(job, TextOutputFormat.class);
        assertTrue(job.waitForCompletion(false));
        return Trees.read(out);
    }
}
