package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.live.LiveWriter;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.run.RunWriter;
import org.tegula.hadoop.run.SpillFiles;

/** What a place hears of another whose pairs it asks for. */
@Timeout(60)
class DataServerTest {
    private static final byte[] KEY = {0, 0, 0, 7};
    private static final MapOutput OUTPUT = new MapOutput(1, "attempt", List.of(), null);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final MemoryBudget memory = new MemoryBudget(1 << 20);
    private final LiveValues live = new LiveValues(memory);
    private final byte[] secret = Handshake.newSecret();
    private final DataClient client = new DataClient(secret, 30_000);
    /** What happens to the job before the next answer begins. */
    private Runnable meanwhile = () -> {};

    private volatile boolean hasThreads = true;
    private Run run;
    private DataServer server;

    private static final class Value extends BytesWritable {
        private static boolean fails;

        Value() {
            super(new byte[300]);
        }

        @Override
        public void write(DataOutput out) throws IOException {
            if (fails) {
                throw new IllegalStateException("of the test");
            }
            super.write(out);
        }
    }

    @BeforeEach
    void start() throws IOException {
        JobConf conf = new JobConf(false);
        conf.set("io.serializations", new Configuration().get("io.serializations"));
        conf.setMapOutputValueClass(BytesWritable.class);
        int number = live.add(new LiveValues.Pair(new IntWritable(7), new Value(), 304, null), KEY.length);
        byte[] record = new byte[LiveWriter.OBJECT_BYTES];
        LiveWriter.writeObject(number, 304, record);
        try (RunWriter writer = RunWriter.create(100, 1, memory, new SpillFiles(conf, "job"))) {
            writer.append(0, KEY, 0, KEY.length, record, 0, record.length);
            run = writer.finish();
        }
        server = new DataServer(InetAddress.getLoopbackAddress(), secret, this::execute, new DataServer.Outputs() {
            @Override
            public RunEncoder encoder(String job, String attempt, int[] partitions, boolean objects)
                    throws IOException {
                meanwhile.run();
                return new RunEncoder(List.of(run), partitions, live, objects, conf);
            }

            @Override
            public void writeHeld(String id, OutputStream out) throws IOException {
                throw new IOException("There are none");
            }
        });
        threads.execute(server::serve);
    }

    @AfterEach
    void end() throws IOException {
        Value.fails = false;
        server.close();
        threads.shutdownNow();
    }

    private void execute(Runnable work) {
        if (!hasThreads) {
            hasThreads = true;
            throw new OutOfMemoryError("unable to create native thread");
        }
        threads.execute(work);
    }

    private InputStream open() throws IOException {
        return client.open(server.address(), "job", OUTPUT, new int[] {0}, true);
    }

    private void endsWhileItIsRead(Runnable end) throws IOException {
        meanwhile = end;
        IOException said;
        try (InputStream stream = open()) {
            said = assertThrows(IOException.class, stream::readAllBytes);
        }
        assertEquals("From place 1: java.io.IOException: The job has ended, and its pairs are gone", said.getMessage());
    }

    @Test
    void thePairs() throws IOException {
        try (InputStream stream = open()) {
            DataInputStream in = new DataInputStream(stream);
            assertEquals(KEY.length + LiveWriter.OBJECT_BYTES + 2, in.readByte());
            assertEquals(RunEncoder.NEW_VALUE, in.readByte());
            assertEquals(KEY.length, in.readByte());
            assertArrayEquals(KEY, in.readNBytes(KEY.length));
            in.readNBytes(3 + 304);
            assertEquals(RunEncoder.END_OF_PARTITION, in.readByte());
            assertEquals(-1, in.read());
        }
    }

    /** The end of a job gives up its streams, also one that has ended just now. */
    @Test
    void overAConnectionThatAnEndedStreamHasHandedBack() throws IOException {
        InputStream first = open();
        first.readAllBytes();
        first.close();
        try (InputStream second = open()) {
            ((Incoming.Abortable) first).abort();
            first.close();
            assertEquals(KEY.length + LiveWriter.OBJECT_BYTES + 2, second.read());
            second.readAllBytes();
            try (InputStream third = open()) { // which may not have the connection of the second
                assertEquals(KEY.length + LiveWriter.OBJECT_BYTES + 2, third.read());
            }
        }
    }

    /** After the loss of a third place, the job has failed while its pairs are on their way. */
    @Test
    void thatTheObjectsOfAnEndedJobAreGone() throws IOException {
        endsWhileItIsRead(live::release);
    }

    @Test
    void thatTheRunsOfAnEndedJobAreGone() throws IOException {
        endsWhileItIsRead(run::release);
    }

    @Test
    void whyPairsCannotBeWritten() throws IOException {
        Value.fails = true;
        try (InputStream stream = open()) {
            IOException said = assertThrows(IOException.class, stream::readAllBytes);
            assertEquals(
                    "From place 1: java.io.IOException: java.lang.IllegalStateException: of the test",
                    said.getMessage());
        }
    }

    /** The place lacked room for a thread when it was asked before. */
    @Test
    void thePairsAfterAMomentWithoutRoom() throws IOException {
        hasThreads = false;
        assertThrows(IOException.class, this::open);
        thePairs();
    }
}
