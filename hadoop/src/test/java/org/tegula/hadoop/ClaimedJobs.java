package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.tegula.hadoop.engine.Engine;

/** Makes sure that the jobs of Hadoop's own tests run in the engine: each class of them has to make some. */
public final class ClaimedJobs implements BeforeAllCallback, AfterAllCallback {
    /** These look at Hadoop's classes alone. */
    private static final Set<String> WITHOUT_JOBS =
            Set.of("mapred.TestWritableJobConf", "mapred.lib.TestMultipleInputs");

    private static final String PREFIX = "org.apache.hadoop.";

    private int before;

    private static int jobs() {
        return Engine.shared(new Configuration()).newJobId().getId();
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        before = jobs();
    }

    @Override
    public void afterAll(ExtensionContext context) {
        Class<?> tests = context.getRequiredTestClass();
        int made = jobs() - before - 1;
        System.out.println(tests.getName() + " made " + made + " jobs");
        assertTrue(
                made > 0 || WITHOUT_JOBS.contains(tests.getName().substring(PREFIX.length())),
                () -> tests + " made no job of the engine's");
    }
}
