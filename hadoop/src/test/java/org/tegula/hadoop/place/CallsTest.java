package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A connection of the driver on which another process sends what is damaged: nobody waits for ever, and nothing half is done. */
@Timeout(60)
class CallsTest {
    private static final int CALL = 0;
    private static final int FAULT = 2;
    private static final int HEAD_BYTES = 10;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Op> handled = Collections.synchronizedList(new ArrayList<>());
    private final CompletableFuture<String> end = new CompletableFuture<>();
    private Socket other;
    private Calls calls;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            other = new Socket(server.getInetAddress(), server.getLocalPort());
            calls = new Calls(server.accept(), 0, this::handle, threads, end::complete);
        }
    }

    private Body handle(Op op, Message in) {
        handled.add(op);
        return Body.EMPTY;
    }

    @AfterEach
    void close() throws IOException {
        calls.close();
        other.close();
        threads.shutdownNow();
    }

    private void send(int length, int kind, long number, int op, byte[] body) throws IOException {
        DataOutputStream out = new DataOutputStream(other.getOutputStream());
        out.writeInt(length);
        out.writeByte(kind);
        out.writeLong(number);
        out.writeByte(op);
        out.write(body);
    }

    /** It stopped the thread that was to answer, and the caller waited for as long as the connection lasted. */
    @Test
    void aCallThatIsNotKnownIsAnsweredByAFault() throws Exception {
        calls.start("test");
        send(HEAD_BYTES, CALL, 7, 99, new byte[0]);
        DataInputStream in = new DataInputStream(other.getInputStream());
        in.readInt();
        assertEquals(FAULT, in.readByte());
        assertEquals(7, in.readLong());
        assertEquals(List.of(), handled);
    }

    /** It was taken out of those that wait before it was read. */
    @Test
    void whoWaitsForAFaultThatIsDamagedIsToldSo() throws Exception {
        CompletableFuture<Message> answer = calls.send(Op.HELLO, Body.EMPTY);
        calls.start("test");
        send(HEAD_BYTES + 1, FAULT, 1, -1, new byte[] {-5});
        assertThrows(ExecutionException.class, () -> answer.get(30, TimeUnit.SECONDS));
        assertNotEquals(Calls.CONNECTION_ENDED, end.get());
    }

    /** It was handled with as much of it as had come. */
    @Test
    void aCallWhoseConnectionEndsInItIsNotHandled() throws Exception {
        calls.start("test");
        send(HEAD_BYTES + 4, CALL, 1, Op.END.ordinal(), new byte[3]);
        other.close();
        assertEquals(Calls.CONNECTION_ENDED, end.get());
        threads.shutdown();
        assertTrue(threads.awaitTermination(30, TimeUnit.SECONDS));
        assertEquals(List.of(), handled);
    }

    @Test
    void aTextLongerThanItsMessageIsRefusedBeforeItIsMade() {
        Message message = new Message(new byte[] {-116, 127, -1, -1, -1, 'a'});
        assertThrows(IOException.class, message::text);
    }

    @Test
    void moreThingsThanAMessageHasRoomForAreRefused() {
        Message message = new Message(new byte[] {127, -1, -1, -1, 0, 0});
        String said =
                assertThrows(IOException.class, () -> RunRef.read(message)).getMessage();
        assertEquals("A message was damaged on its way: 2147483647 things cannot follow in its 2 last bytes", said);
    }
}
