package org.tegula.hadoop.place;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.Executor;
import org.apache.hadoop.io.DataOutputBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives other places the pairs that maps have left for them here. A place that reads slowly holds up its own stream alone: no
 * more than a chunk of it is made ahead.
 */
final class DataServer implements Closeable {
    /** After the last chunk, and for a fault, whose text follows. */
    static final int END = 0;

    static final int FAULT = -1;

    static final int CHUNK_BYTES = 1 << 16;

    private static final Logger LOG = LoggerFactory.getLogger(DataServer.class);

    private final Port port;
    private final byte[] secret;
    private final Executor threads;
    private final Outputs outputs;

    /** Finds the output of maps. */
    interface Outputs {
        RunEncoder encoder(String job, String attempt, int[] partitions, boolean objects) throws IOException;

        void writeHeld(String id, OutputStream out) throws IOException;
    }

    DataServer(InetAddress host, byte[] secret, Executor threads, Outputs outputs) throws IOException {
        this.secret = secret;
        this.threads = threads;
        this.outputs = outputs;
        port = new Port(host);
    }

    /** Host and port. */
    String address() {
        return port.host() + ":" + port.number();
    }

    /** Accepts connections until it is closed. */
    void serve() {
        port.serve(threads, this::serve);
    }

    private void serve(Socket accepted) {
        try (accepted) {
            Handshake.prove(accepted, secret, true);
            DataInputStream in = new DataInputStream(new BufferedInputStream(accepted.getInputStream()));
            DataOutputStream out =
                    new DataOutputStream(new BufferedOutputStream(accepted.getOutputStream(), CHUNK_BYTES));
            while (true) {
                answer(in, out);
                out.flush();
            }
        } catch (EOFException e) {
            LOG.debug("{} has closed its connection", accepted.getRemoteSocketAddress(), e);
        } catch (IOException | RuntimeException e) {
            LOG.warn("The connection of {} ended: {}", accepted.getRemoteSocketAddress(), e.toString());
        }
    }

    private void answer(DataInputStream in, DataOutputStream out) throws IOException {
        DataRequest asked = DataRequest.read(in);
        if (asked.isOfFile()) {
            writeHeld(asked.attempt(), out);
            return;
        }
        RunEncoder encoder;
        try {
            encoder = outputs.encoder(asked.job(), asked.attempt(), asked.partitions(), asked.objects());
        } catch (IOException e) {
            fail(e, out);
            return;
        }
        try {
            writePairs(encoder, out);
        } finally {
            encoder.close();
        }
    }

    /** In place of a chunk that cannot be made, the reader gets the reason, such as that the job has ended meanwhile. */
    private static void writePairs(RunEncoder encoder, DataOutputStream out) throws IOException {
        DataOutputBuffer chunk = new DataOutputBuffer();
        while (true) {
            try {
                if (!fill(encoder, chunk)) {
                    break;
                }
            } catch (IOException e) {
                fail(e, out);
                return;
            } catch (RuntimeException e) {
                LOG.warn("The pairs of a map could not be made into bytes", e);
                fail(new IOException(e), out);
                return;
            }
            out.writeInt(chunk.getLength());
            out.write(chunk.getData(), 0, chunk.getLength());
        }
        out.writeInt(END);
    }

    private void writeHeld(String id, DataOutputStream out) throws IOException {
        OutputStream chunks = new BufferedOutputStream(
                new FilterOutputStream(out) {
                    @Override
                    public void write(byte[] bytes, int start, int length) throws IOException {
                        ((DataOutputStream) out).writeInt(length);
                        out.write(bytes, start, length);
                    }
                },
                CHUNK_BYTES);
        try {
            outputs.writeHeld(id, chunks);
        } catch (IOException e) {
            fail(e, out);
            return;
        }
        chunks.flush();
        out.writeInt(END);
    }

    private static void fail(IOException fault, DataOutputStream out) throws IOException {
        out.writeInt(FAULT);
        out.writeUTF(fault.toString());
    }

    private static boolean fill(RunEncoder encoder, DataOutputBuffer chunk) throws IOException {
        chunk.reset();
        while (chunk.getLength() < CHUNK_BYTES && encoder.next(chunk)) {
            // The next record follows.
        }
        return chunk.getLength() > 0;
    }

    @Override
    public void close() throws IOException {
        port.close();
    }
}
