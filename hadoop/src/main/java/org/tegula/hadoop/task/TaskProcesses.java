package org.tegula.hadoop.task;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The processes that attempts of this JVM have started, such as the commands of Hadoop Streaming. On a cluster they end with the
 * JVM of their attempt. Here a process ends with its attempt if the attempt's name is in its environment, as Streaming gives it,
 * and so does all that it has started. Where environments cannot be read, as on other systems than Linux, all are left alone.
 */
final class TaskProcesses {
    private static final Logger LOG = LoggerFactory.getLogger(TaskProcesses.class);
    private static final String ATTEMPT = "mapreduce_task_attempt_id=";
    /** After jobs were killed, files were written and places were ended. */
    private static final int SHUTDOWN_PRIORITY = 1;

    private static final int SHUTDOWN_LOOKS = 20;
    private static final long SHUTDOWN_LOOK_MILLIS = 50;
    /** Shorter than a stage waits for an attempt: one that waits for its command is back in time. */
    private static final long GRACE_MILLIS = 2000;

    private static final long LAST_LOOK_MILLIS = 60_000;

    private static final ScheduledExecutorService CLOCK = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "tegula-task-processes");
        thread.setDaemon(true);
        return thread;
    });

    private TaskProcesses() {}

    /** Has the processes of all attempts that still run end with the JVM. */
    static void endAtExit() {
        ShutdownHookManager.get().addShutdownHook(TaskProcesses::endLast, SHUTDOWN_PRIORITY);
    }

    /** No other attempt begins from now on; one that has just begun may start its process meanwhile. */
    private static void endLast() {
        Set<String> attempts = RunningAttempts.close();
        try {
            for (int looks = 0; looks < SHUTDOWN_LOOKS && end(attempts); looks++) {
                Thread.sleep(SHUTDOWN_LOOK_MILLIS);
            }
        } catch (InterruptedException e) {
            LOG.warn("Processes of {} may outlive this JVM", attempts, e);
        }
    }

    /** Ends those of an attempt that was told to stop, unless it returns: it may wait for a process that does not read. */
    static void endSoon(String attempt) {
        endAfter(GRACE_MILLIS, attempt);
    }

    private static void endAfter(long millis, String attempt) {
        CLOCK.schedule(
                () -> {
                    if (RunningAttempts.isRunning(attempt)) {
                        end(Set.of(attempt));
                    }
                    if (millis < LAST_LOOK_MILLIS) { // it may start others
                        endAfter(2 * millis, attempt);
                    }
                },
                millis,
                TimeUnit.MILLISECONDS);
    }

    /** Ends those of some attempts; false if there were none. */
    static boolean end(Set<String> attempts) {
        List<ProcessHandle> found = ProcessHandle.current()
                .children()
                .filter(each -> attempts.contains(attempt(each)))
                .toList();
        for (ProcessHandle each : found) {
            List<ProcessHandle> below = each.descendants().toList();
            LOG.warn(
                    "Process {} of {}, which is over, is ended, with {} below it",
                    each.pid(),
                    attempt(each),
                    below.size());
            each.destroyForcibly();
            below.forEach(ProcessHandle::destroyForcibly);
        }
        return !found.isEmpty();
    }

    /** The attempt in the environment of a process; empty if there is none. */
    private static String attempt(ProcessHandle process) {
        try {
            byte[] bytes = Files.readAllBytes(Path.of("/proc/" + process.pid() + "/environ"));
            String environment = '\0' + new String(bytes, StandardCharsets.ISO_8859_1);
            int at = environment.indexOf('\0' + ATTEMPT);
            if (at < 0) {
                return "";
            }
            int start = at + 1 + ATTEMPT.length();
            int end = environment.indexOf('\0', start);
            return environment.substring(start, end < 0 ? environment.length() : end);
        } catch (IOException e) {
            LOG.debug("Process {} has ended, or cannot be looked into", process.pid(), e);
            return "";
        }
    }
}
