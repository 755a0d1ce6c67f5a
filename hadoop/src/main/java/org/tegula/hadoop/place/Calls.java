package org.tegula.hadoop.place;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls both ways between the driver and a place, over one connection. A call that takes long holds up no other. When the
 * connection ends, all calls that wait fail, and no more are made.
 */
final class Calls implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(Calls.class);
    static final String CONNECTION_ENDED = "its connection ended";

    private static final int MOST_BYTES = 1 << 30;
    /** The kind of a message, its number, and what is called. */
    private static final int HEAD_BYTES = 1 + Long.BYTES + 1;

    private static final Op[] OPS = Op.values();
    private static final byte CALL = 0;
    private static final byte ANSWER = 1;
    private static final byte FAULT = 2;

    private final Socket socket;
    private final int silenceMillis;
    private final OutputStream out;
    private final Handler handler;
    private final ExecutorService threads;
    private final Consumer<String> onEnd;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, CompletableFuture<Message>> waiting = new ConcurrentHashMap<>();
    private String ended;

    /** Answers calls of the other end. */
    interface Handler {
        /** What is thrown is thrown at the caller. */
        Body handle(Op op, Message in) throws Exception;
    }

    /**
     * @param socket after the handshake
     * @param silenceMillis after which a silent other end counts as gone; 0 for never
     * @param onEnd takes the reason why the connection has ended, once
     */
    Calls(Socket socket, int silenceMillis, Handler handler, ExecutorService threads, Consumer<String> onEnd)
            throws IOException {
        this.socket = socket;
        this.silenceMillis = silenceMillis;
        this.out = socket.getOutputStream();
        this.handler = handler;
        this.threads = threads;
        this.onEnd = onEnd;
        socket.setSoTimeout(silenceMillis);
    }

    /** Begins to read. */
    void start(String name) {
        Thread reader = new Thread(this::readAll, "tegula-calls-of-" + name);
        reader.setDaemon(true);
        reader.start();
    }

    /** Sends a call; the answer comes, or a fault of the other end as a {@link RemoteFault}. */
    CompletableFuture<Message> send(Op op, Body body) {
        long number = numbers.incrementAndGet();
        CompletableFuture<Message> answer = new CompletableFuture<>();
        synchronized (this) {
            if (ended != null) {
                answer.completeExceptionally(new EOFException(ended));
                return answer;
            }
            waiting.put(number, answer);
        }
        try {
            write(CALL, number, op, body);
        } catch (IOException e) {
            end(why(e));
        }
        return answer;
    }

    private void write(byte kind, long number, Op op, Body body) throws IOException {
        DataOutputBuffer frame = new DataOutputBuffer();
        frame.writeInt(0);
        frame.writeByte(kind);
        frame.writeLong(number);
        frame.writeByte(op == null ? -1 : op.ordinal());
        body.write(frame);
        int length = frame.getLength() - Integer.BYTES;
        byte[] bytes = frame.getData();
        for (int i = 0; i < Integer.BYTES; i++) {
            bytes[i] = (byte) (length >>> 8 * (Integer.BYTES - 1 - i));
        }
        synchronized (out) {
            out.write(bytes, 0, frame.getLength());
        }
    }

    /** Reads up to the end of the connection. */
    void readAll() {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16))) {
            while (true) {
                int length = in.readInt();
                if (length < HEAD_BYTES || length > MOST_BYTES) {
                    throw new IOException("it sent a message of " + length + " bytes");
                }
                byte[] bytes = in.readNBytes(length); // more is made as more comes
                if (bytes.length < length) {
                    throw new EOFException();
                }
                Message frame = new Message(bytes);
                take(frame.readByte(), frame.readLong(), frame.readByte(), frame);
            }
        } catch (SocketTimeoutException e) {
            end("it was silent for " + silenceMillis / 1000 + " seconds");
        } catch (IOException | RuntimeException | Error e) { // a heap that is full: this end cannot go on
            end(why(e));
        }
    }

    private void take(byte kind, long number, byte op, Message in) throws IOException {
        if (kind < CALL || kind > FAULT) {
            throw new IOException("it sent a message of kind " + kind);
        }
        if (kind == CALL) {
            threads.execute(() -> answer(number, op, in));
            return;
        }
        CompletableFuture<Message> answer = waiting.remove(number);
        if (answer == null) {
            return;
        }
        if (kind == ANSWER) {
            answer.complete(in);
            return;
        }
        try {
            answer.completeExceptionally(RemoteFault.read(in));
        } catch (IOException e) {
            answer.completeExceptionally(e);
            throw e;
        }
    }

    private void answer(long number, byte op, Message in) {
        try {
            Body body;
            try {
                body = handler.handle(Message.at(op, OPS), in);
            } catch (Throwable e) { // also errors of programs: their driver is told
                write(FAULT, number, null, out -> RemoteFault.write(e, out));
                return;
            }
            write(ANSWER, number, null, body);
        } catch (IOException | RuntimeException | Error e) { // who waits for the answer would wait for ever
            end(why(e));
        }
    }

    /** A killed process ends its connection, or resets it if it had not read all that was sent to it. */
    private static String why(Throwable e) {
        return e instanceof EOFException || e instanceof SocketException ? CONNECTION_ENDED : e.toString();
    }

    private void end(String why) {
        synchronized (this) {
            if (ended != null) {
                return;
            }
            ended = why;
        }
        closeSocket();
        onEnd.accept(why);
        waiting.values().forEach(each -> each.completeExceptionally(new EOFException(why)));
        waiting.clear();
    }

    private void closeSocket() {
        try {
            socket.close();
        } catch (IOException e) {
            LOG.debug("A connection could not be closed", e);
        }
    }

    @Override
    public void close() {
        end("it was closed");
    }
}
