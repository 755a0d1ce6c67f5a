package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.tegula.hadoop.wire.ConnectionOf;
import org.tegula.hadoop.wire.Target;

/**
 * All that comes over a connection between the driver and a place, beside a naive reader of its frames: each whole call is handled
 * and answered, in turn, up to the first that is damaged, and no caller waits when the connection has ended.
 */
public final class CallsTarget implements Target {
    private static final int HEAD_BYTES = 10;
    private static final int CALL = 0;
    private static final int ANSWER = 1;
    private static final int FAULT = 2;
    private static final int WAITING = 3;

    private record Frame(int kind, long number, int op, byte[] body) {}

    /** Work is done at once, in the thread that reads. */
    private static final class AtOnce extends AbstractExecutorService {
        @Override
        public void execute(Runnable work) {
            work.run();
        }

        @Override
        public void shutdown() {}

        @Override
        public List<Runnable> shutdownNow() {
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long time, TimeUnit unit) {
            return true;
        }
    }

    @Override
    public void read(byte[] bytes) throws IOException {
        List<Frame> handled = new ArrayList<>();
        List<String> ends = new ArrayList<>();
        ConnectionOf connection = new ConnectionOf(bytes);
        Calls calls = new Calls(
                connection,
                0,
                (op, in) -> {
                    byte[] body = in.bytes(in.left());
                    handled.add(new Frame(CALL, 0, op.ordinal(), body));
                    return out -> out.write(body);
                },
                new AtOnce(),
                ends::add);
        List<CompletableFuture<Message>> waiting = new ArrayList<>();
        for (int i = 0; i < WAITING; i++) {
            waiting.add(calls.send(Op.HELLO, Body.EMPTY));
        }
        calls.readAll();
        assertEquals(1, ends.size());
        waiting.forEach(each -> assertTrue(each.isDone(), "a caller waits for ever"));

        Map<Long, byte[]> answers = new HashMap<>();
        List<Frame> called = wholeFrames(bytes, answers);
        List<Frame> known =
                called.stream().filter(each -> each.op < Op.values().length).toList();
        assertEquals(known.size(), handled.size());
        for (int i = 0; i < known.size(); i++) {
            assertEquals(known.get(i).op, handled.get(i).op);
            assertArrayEquals(known.get(i).body, handled.get(i).body);
        }
        checkAnswers(called, connection.sent());
        for (int i = 0; i < WAITING; i++) {
            byte[] answer = answers.get(i + 1L);
            assertEquals(answer == null, waiting.get(i).isCompletedExceptionally());
            if (answer != null) {
                Message got = waiting.get(i).join();
                assertArrayEquals(answer, got.bytes(got.left()));
            }
        }
        if (!ends.get(0).equals(Calls.CONNECTION_ENDED)) {
            throw new IOException(ends.get(0));
        }
    }

    /** The calls up to the first frame that is damaged; answers to calls that wait are collected. */
    private static List<Frame> wholeFrames(byte[] bytes, Map<Long, byte[]> answers) throws IOException {
        List<Frame> called = new ArrayList<>();
        List<Long> answered = new ArrayList<>();
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        while (in.available() >= Integer.BYTES) {
            int length = in.readInt();
            if (length < HEAD_BYTES || length > in.available()) {
                break;
            }
            Frame frame = new Frame(in.readByte(), in.readLong(), in.readUnsignedByte(), new byte[length - HEAD_BYTES]);
            in.readFully(frame.body);
            if (frame.kind < CALL || frame.kind > FAULT) {
                break;
            }
            boolean isAwaited = frame.number >= 1 && frame.number <= WAITING && !answered.contains(frame.number);
            if (frame.kind == CALL) {
                called.add(frame);
            } else if (isAwaited) {
                answered.add(frame.number);
                if (frame.kind == ANSWER) {
                    answers.put(frame.number, frame.body);
                } else if (!isFault(frame.body)) {
                    break;
                }
            }
        }
        return called;
    }

    private static boolean isFault(byte[] body) {
        try {
            RemoteFault.read(new Message(body));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static void checkAnswers(List<Frame> called, byte[] sent) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(sent));
        for (int i = 0; i < WAITING; i++) {
            in.skipNBytes(Integer.BYTES + HEAD_BYTES);
        }
        for (Frame each : called) {
            byte[] frame = new byte[in.readInt()];
            in.readFully(frame);
            boolean isKnown = each.op < Op.values().length;
            DataInputStream fields = new DataInputStream(new ByteArrayInputStream(frame));
            assertEquals(isKnown ? ANSWER : FAULT, fields.readByte());
            assertEquals(each.number, fields.readLong());
            fields.readByte();
            if (isKnown) {
                assertArrayEquals(each.body, fields.readAllBytes());
            }
        }
        assertFalse(in.available() > 0, "more was answered than was called");
    }
}
