package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RunningJob;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs for the local runner that the engine claims are cut as the local runner cuts them. */
@Timeout(60)
class ClaimedSplitsTest {
    @TempDir
    Path folder;

    private Path run(boolean claimed) throws Exception {
        Path in = Files.writeString(folder.resolve("in.txt"), "one line\n".repeat(1000));
        Path out = folder.resolve(claimed ? "claimed" : "local");
        JobConf job = new JobConf(Engines.LOCAL.conf(folder.resolve("tmp")));
        job.setBoolean(Settings.CLAIM_LOCAL, claimed);
        job.setNumReduceTasks(0);
        FileInputFormat.setInputPaths(job, in.toString());
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(out.toUri()));
        RunningJob ran = JobClient.runJob(job);
        assertEquals(!claimed, ran.getID().getJtIdentifier().startsWith("local"));
        assertTrue(ran.isSuccessful());
        return out;
    }

    @Test
    void aFileIsOneSplitOfTheOlderInterface() throws Exception {
        assertEquals(Trees.read(run(false)), Trees.read(run(true)));
        assertTrue(Files.exists(folder.resolve("claimed/part-00000")));
        assertTrue(!Files.exists(folder.resolve("claimed/part-00001")));
    }
}
