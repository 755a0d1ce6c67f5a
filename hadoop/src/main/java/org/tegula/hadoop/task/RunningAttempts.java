package org.tegula.hadoop.task;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.util.ShutdownHookManager;

/** The attempts that run in this JVM: what a program makes from a copy of its task's configuration finds the task here. */
final class RunningAttempts {
    private static final Map<String, Attempt> RUNNING = new ConcurrentHashMap<>();
    private static boolean opened;
    private static boolean closed;

    private RunningAttempts() {}

    static synchronized void begin(Attempt attempt) {
        if (closed) {
            throw new IllegalStateException("The JVM ends");
        }
        if (!opened && !ShutdownHookManager.get().isShutdownInProgress()) {
            opened = true;
            TaskProcesses.endAtExit();
        }
        RUNNING.put(attempt.id().toString(), attempt);
    }

    /** Lets no others begin, and returns the names of those that run. */
    static synchronized Set<String> close() {
        closed = true;
        return Set.copyOf(RUNNING.keySet());
    }

    static boolean isRunning(String id) {
        return RUNNING.containsKey(id);
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
