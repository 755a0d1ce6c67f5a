package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.run.SpillFiles;
import org.tegula.hadoop.task.JobResources;
import org.tegula.hadoop.task.TaskReporter;

/** A machine that vanishes keeps its connections, as those who wait for its data see it: nobody waits for ever. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SilentServerTest {
    private static final MapOutput OUTPUT = new MapOutput(1, "attempt", List.of(), null);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final byte[] secret = Handshake.newSecret();
    private final CountDownLatch asked = new CountDownLatch(1);
    private ServerSocket server;

    @BeforeEach
    void listen() throws IOException {
        server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        threads.submit(() -> {
            Socket accepted = server.accept();
            Handshake.prove(accepted, secret, true);
            DataRequest.read(new DataInputStream(accepted.getInputStream()));
            asked.countDown();
            return accepted;
        });
    }

    @AfterEach
    void close() throws IOException {
        server.close();
        threads.shutdownNow();
    }

    private InputStream open(DataClient client, int[] partitions) throws IOException {
        return client.open(
                InetAddress.getLoopbackAddress().getHostAddress() + ":" + server.getLocalPort(),
                "job",
                OUTPUT,
                partitions,
                false);
    }

    @Test
    void aReaderFailsAfterTheLease() throws Exception {
        try (InputStream stream = open(new DataClient(secret, 1000), new int[] {0})) {
            String said = assertThrows(IOException.class, stream::read).getMessage();
            assertEquals("place 1 was silent for 1 seconds, and has not sent all of its pairs", said);
        }
    }

    @Test
    void theEndOfAJobDoesNotWaitForItsReaders() throws Exception {
        JobConf conf = new JobConf(false);
        conf.setNumReduceTasks(2);
        MemoryBudget memory = new MemoryBudget(1 << 20);
        JobResources job = new JobResources(
                conf, memory, new SpillFiles(conf, "job"), null, new LiveValues(memory), 1 << 20, null, null, null);
        DataClient client = new DataClient(secret, 0);
        Incoming incoming = new Incoming(0, 2, job, (output, partitions, objects) -> open(client, partitions));
        Future<?> reduce = threads.submit(() -> incoming.runs(List.of(OUTPUT), 0, new TaskReporter(conf)));
        assertTrue(asked.await(20, TimeUnit.SECONDS));
        threads.submit(incoming::close).get(10, TimeUnit.SECONDS);
        Throwable why = assertThrows(ExecutionException.class, () -> reduce.get(10, TimeUnit.SECONDS))
                .getCause();
        assertTrue(why instanceof IOException, why.toString());
    }
}
