package org.tegula.hadoop.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;

/**
 * Identifies the process of a server, beside the file with its secret: its number, and its start time, because the number may
 * be another process's by now.
 */
public final class PidFile {
    private final Path file;

    private PidFile(Path file) {
        this.file = file;
    }

    /**
     * The file of a server.
     *
     * @param conf may name the file with its secret
     * @param port of the server
     * @return a file that need not be there
     */
    public static PidFile of(Configuration conf, int port) {
        Path token = ServerSecret.file(conf, port);
        String name = token.getFileName().toString().replaceFirst("[.]token$", "") + ".pid";
        return new PidFile(token.resolveSibling(name));
    }

    /** Writes this process. */
    void write() throws IOException {
        ProcessHandle self = ProcessHandle.current();
        Files.writeString(file, self.pid() + "\n" + started(self) + "\n");
    }

    private static String started(ProcessHandle process) {
        return process.info().startInstant().map(Instant::toString).orElse("");
    }

    /** Removes the file, unless another server has written its own. */
    void remove() throws IOException {
        if (process().filter(ProcessHandle.current()::equals).isPresent()) {
            Files.deleteIfExists(file);
        }
    }

    /** The process, if it runs. */
    private Optional<ProcessHandle> process() throws IOException {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        String[] lines = Files.readString(file).split("\n", -1);
        if (lines.length < 2 || !lines[0].matches("[0-9]{1,18}")) {
            throw new IOException(file + " is not the file of a server: remove it, and end the server by its process");
        }
        return ProcessHandle.of(Long.parseLong(lines[0]))
                .filter(process -> process.isAlive() && started(process).equals(lines[1]));
    }

    /**
     * Has the server end, and waits until it has.
     *
     * @param seconds how long to wait
     * @return the number of its process
     * @throws IOException if none runs, or it does not end
     * @throws InterruptedException if the thread is interrupted
     */
    public long stop(long seconds) throws IOException, InterruptedException {
        ProcessHandle server = process()
                .orElseThrow(
                        () -> new IOException(
                                "No server runs that " + file
                                        + " tells of: name its address with -D tegula.server.address=HOST:PORT, or end it where it was started"));
        server.destroy();
        try {
            server.onExit().get(seconds, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new IOException(
                    "The server, process " + server.pid() + ", has not ended after " + seconds
                            + " seconds: look at its log, or kill it",
                    e);
        } catch (ExecutionException e) {
            throw new IOException("It is not known whether process " + server.pid() + " has ended", e);
        }
        return server.pid();
    }
}
