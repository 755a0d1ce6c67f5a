package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.tegula.hadoop.Jvms;

/** Starts JVMs with the class path of the tests. */
final class Processes implements AutoCloseable {
    private final List<Process> all = new ArrayList<>();
    private final Path errors;

    /** Their error output goes to a file. */
    Processes(Path errors) {
        this.errors = errors;
    }

    Process start(Class<?> main, Map<String, String> settings, String... arguments) throws IOException {
        String log =
                "-Dlog4j.configuration=" + Path.of("conf", "log4j.properties").toUri();
        List<String> command = Jvms.command(main, "-Xmx256m", log);
        settings.forEach((name, value) -> command.add("-D" + name + "=" + value));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(errors.toFile()))
                .start();
        all.add(process);
        return process;
    }

    static String line(Process process) throws IOException {
        BufferedReader reader = process.inputReader();
        return reader.readLine();
    }

    static int end(Process process) throws InterruptedException {
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the process does not end");
        return process.exitValue();
    }

    @Override
    public void close() {
        all.forEach(Process::destroyForcibly);
    }
}
