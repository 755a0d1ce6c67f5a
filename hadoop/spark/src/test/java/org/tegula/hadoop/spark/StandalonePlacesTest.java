package org.tegula.hadoop.spark;

import java.io.File;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Executors of a standalone cluster of Spark, with a master and two workers, are places. */
@Timeout(600)
class StandalonePlacesTest {
    private static final String HOST = "127.0.0.1";

    @TempDir
    Path folder;

    private final List<Process> cluster = new ArrayList<>();

    @AfterEach
    void end() {
        cluster.forEach(Process::destroyForcibly);
    }

    private void start(String type, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx256m", "-cp", System.getenv("SPARK_HOME") + "/jars/*", type));
        command.addAll(List.of(arguments));
        File log = folder.resolve("cluster-" + cluster.size() + ".log").toFile();
        cluster.add(new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log)
                .start());
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(HOST))) {
            return socket.getLocalPort();
        }
    }

    private static void awaitPort(int port) throws Exception {
        while (true) {
            try {
                new Socket(HOST, port).close();
                return;
            } catch (ConnectException e) {
                Thread.sleep(100);
            }
        }
    }

    @Test
    void executorsArePlaces() throws Exception {
        int port = freePort();
        String master = "spark://" + HOST + ":" + port;
        start("org.apache.spark.deploy.master.Master", "--host", HOST, "--port", "" + port, "--webui-port", "0");
        awaitPort(port);
        for (int worker = 0; worker < 2; worker++) {
            String work = folder.resolve("work-" + worker).toString();
            start(
                    "org.apache.spark.deploy.worker.Worker",
                    "--host",
                    HOST,
                    "--cores",
                    "1",
                    "--memory",
                    "512m",
                    "--webui-port",
                    "0",
                    "--work-dir",
                    work,
                    master);
        }
        new WordsOnSpark(folder, master).check();
    }
}
