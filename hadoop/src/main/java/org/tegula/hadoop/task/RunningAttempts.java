package org.tegula.hadoop.task;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.JobContext;

/** The attempts that run in this JVM: what a program makes from a copy of its task's configuration finds the task here. */
final class RunningAttempts {
    private static final Map<String, Attempt> RUNNING = new ConcurrentHashMap<>();

    private RunningAttempts() {}

    static void begin(Attempt attempt) {
        RUNNING.put(attempt.id().toString(), attempt);
    }

    static void end(Attempt attempt) {
        RUNNING.remove(attempt.id().toString());
    }

    /** Null if the configuration is not that of a task that runs here. */
    static Attempt of(Configuration conf) {
        String id = conf.get(JobContext.TASK_ATTEMPT_ID);
        return id == null ? null : RUNNING.get(id);
    }
}
