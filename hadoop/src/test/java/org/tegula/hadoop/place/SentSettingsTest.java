package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.tegula.hadoop.conf.JobWideConf;

/** A place has the settings of a job as its driver has them, and only the differences from the engine's are sent. */
class SentSettingsTest {
    private static Message sent(SentSettings settings, DataOutputBuffer out) throws IOException {
        settings.write(out);
        return new Message(Arrays.copyOf(out.getData(), out.getLength()));
    }

    @Test
    void settingsArriveAsTheyWere() throws IOException {
        JobConf site = new JobConf();
        site.set("only.of.the.engine", "x");
        site.set("mapred.job.name", "engine's"); // Hadoop sets its newer name, too
        JobConf job = new JobConf();
        job.set("only.of.the.job", "${hadoop.tmp.dir}/y");
        job.set("mapreduce.job.reduces", "7");
        job.set("empty", "");
        JobConf atPlace = SentSettings.read(sent(SentSettings.of(Map.of(), site), new DataOutputBuffer()))
                .over(new JobWideConf());
        DataOutputBuffer out = new DataOutputBuffer();
        JobConf found = SentSettings.read(sent(SentSettings.of(SentSettings.all(site), job), out))
                .over(atPlace);
        assertTrue(out.getLength() < 1000, "only differences: " + out.getLength());
        assertNull(found.get("only.of.the.engine"));
        assertEquals("x", atPlace.get("only.of.the.engine"));
        assertEquals("${hadoop.tmp.dir}/y", found.getRaw("only.of.the.job"));
        for (Map.Entry<String, String> each : job) {
            assertEquals(each.getValue(), found.getRaw(each.getKey()), each.getKey());
        }
        assertEquals(job.getJobName(), found.getJobName());
    }
}
