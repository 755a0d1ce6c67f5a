package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the driver makes of a place that does not start, is lost, or reports late. */
@Timeout(60)
class RemotePlaceTest {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Starter starter = new Starter();
    private PlaceHub hub;
    private RemotePlace place;

    /** Connects in the place of a new process, or fails. */
    private final class Starter implements PlaceLauncher {
        private volatile boolean fails = true;
        private volatile boolean hasThreads = true;
        private volatile int starts;
        private volatile Calls latest;

        @Override
        public int prepare(String setting, Configuration conf) {
            return 1;
        }

        @Override
        public void start(Invitation invitation) throws IOException {
            starts++;
            if (!hasThreads) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            if (fails) {
                throw new IOException("There is no room");
            }
            Socket socket = new Socket(invitation.host(), invitation.port());
            Handshake.prove(socket, invitation.secretBytes(), false);
            latest = new Calls(socket, 0, (op, in) -> Body.EMPTY, threads, why -> {});
            latest.start("driver");
            latest.send(Op.HELLO, out -> {
                out.writeInt(invitation.number());
                out.writeLong(starts);
                Text.writeString(out, "");
            });
        }

        @Override
        public void close() {
            if (latest != null) {
                latest.close();
            }
        }
    }

    @BeforeEach
    void open() throws IOException {
        hub = new PlaceHub(new Configuration(), starter, 1, 1);
        place = hub.places().get(0);
    }

    @AfterEach
    void close() {
        hub.close();
        threads.shutdownNow();
    }

    @Test
    void aPlaceThatCouldNotBeStartedIsStartedForTheNextJob() throws Exception {
        for (int i = 0; i < 2; i++) {
            String why = assertThrows(PlaceLost.class, place::await).getMessage();
            assertTrue(why.endsWith("it cannot be started: java.io.IOException: There is no room"), why);
        }
        starter.fails = false;
        Calls first = place.await();
        assertNotNull(first);
        starter.fails = true;
        int starts = starter.starts;
        starter.latest.close();
        while (starter.starts == starts) {
            Thread.sleep(10);
        }
        assertThrows(PlaceLost.class, place::await);
        starter.fails = false;
        assertNotNull(place.await());
    }

    /** Its job hears of it at once, and the next one has it started again. */
    @Test
    void aPlaceIsRefusedWhateverIsInItsWay() throws Exception {
        assertThrows(PlaceLost.class, place::await);
        starter.hasThreads = false;
        String why = assertThrows(PlaceLost.class, place::await).getMessage();
        assertTrue(why.endsWith("java.lang.OutOfMemoryError: unable to create native thread"), why);
        starter.hasThreads = true;
        starter.fails = false;
        assertNotNull(place.await());
    }

    /** It was not told of the loss, because it was not yet among the jobs of the place. */
    @Test
    void aJobHasNotBegunAtAPlaceThatIsAnotherProcessNow() throws Exception {
        starter.fails = false;
        Calls first = place.await();
        starter.latest.close();
        Calls second = first;
        while (second == first) {
            second = place.await();
        }
        RemotePlaceJob job = new RemotePlaceJob(place, null);
        assertThrows(PlaceLost.class, () -> place.begun(job, first));
        place.begun(job, second);
        place.ended(job);
    }

    /** Reports are read by other threads than answers. */
    @Test
    void aReportThatComesAfterTheAnswerChangesNothing() {
        RemoteAttempt attempt =
                new RemoteAttempt(null, TaskAttemptID.forName("attempt_1_0001_m_000000_0"), Op.MAP, Body.EMPTY);
        attempt.hear(facts(3));
        assertEquals(3, attempt.counters().findCounter("group", "name").getValue());
        attempt.hearLast(facts(7));
        attempt.hear(facts(5));
        assertEquals(7, attempt.counters().findCounter("group", "name").getValue());
    }

    private static AttemptFacts facts(long value) {
        Counters counters = new Counters();
        counters.findCounter("group", "name").setValue(value);
        return new AttemptFacts(0, 0, "", counters);
    }
}
