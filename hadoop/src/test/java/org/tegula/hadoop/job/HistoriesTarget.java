package org.tegula.hadoop.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.jobhistory.Event;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** The history of a job, as a server or Hadoop's own tools have left it. */
public final class HistoriesTarget implements Target {
    private static final JobID ID = new JobID("1", 1);
    private static final String NAME = "job_1_0001-1700000000000-user-name-1700000001000-1-1-SUCCEEDED-default-1.jhist";
    /** How each history begins: with its schema. */
    private static final byte[] HEAD = ("Avro-Json\n" + Event.SCHEMA$ + "\n").getBytes(StandardCharsets.UTF_8);

    private static final int FEW = 100;

    private final Path folder = Input.folder("histories");
    private final Configuration conf = new Configuration();

    /** With a folder of its own. */
    public HistoriesTarget() {
        conf.set(Settings.HISTORY_DIR, folder.toUri().toString());
    }

    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        boolean isOfEvents = input.choice() % 2 == 0;
        try (OutputStream out = Files.newOutputStream(folder.resolve(NAME))) {
            out.write(isOfEvents ? HEAD : new byte[0]);
            out.write(input.rest());
        }
        JobFacts facts = HistoryFolder.of(conf).orElseThrow().job(ID).orElseThrow();
        assertEquals(ID.toString(), facts.status().getJobID().toString());
        assertNotNull(facts.counters());
        facts.events(0, FEW);
        for (TaskType type : new TaskType[] {TaskType.MAP, TaskType.REDUCE}) {
            for (TaskReport each : facts.reports(type)) {
                assertNotNull(facts.diagnostics(org.apache.hadoop.mapred.TaskID.downgrade(each.getTaskID())));
            }
        }
    }
}
