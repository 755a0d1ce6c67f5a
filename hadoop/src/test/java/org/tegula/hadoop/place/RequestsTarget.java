package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import org.tegula.hadoop.wire.ConnectionOf;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** What places send each other over a connection for data: the greeting, a request, and the chunks that answer it. */
public final class RequestsTarget implements Target {
    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        int choice = input.choice();
        switch (choice % 3) {
            case 0 -> readRequest(input);
            case 1 -> readChunks(input, choice % 2 == 0);
            default -> greet(input);
        }
    }

    private static void readRequest(Input input) throws IOException {
        DataRequest request = DataRequest.read(input.stream());
        byte[] written = MessagesTarget.written(request::write);
        DataRequest again = DataRequest.read(new Message(written));
        assertEquals(request.job(), again.job());
        assertEquals(request.attempt(), again.attempt());
        assertArrayEquals(request.partitions(), again.partitions());
        assertEquals(request.objects(), again.objects());
    }

    /** The bytes of all chunks, read one by one or many at once. */
    private static void readChunks(Input input, boolean oneByOne) throws IOException {
        byte[] expected = chunks(input.stream());
        try (ChunkStream stream = new ChunkStream(input.stream(), "place 1")) {
            ByteArrayOutputStream read = new ByteArrayOutputStream();
            for (int next = oneByOne ? stream.read() : -1; next >= 0; next = stream.read()) {
                read.write(next);
            }
            stream.transferTo(read);
            if (expected == null) {
                fail("damaged chunks were read");
            }
            assertArrayEquals(expected, read.toByteArray());
            assertEquals(true, stream.isWhole());
        } catch (IOException e) {
            if (expected != null) {
                throw new AssertionError("chunks were refused", e);
            }
            throw e;
        }
    }

    /** Null if they are damaged, or tell a fault. */
    private static byte[] chunks(DataInputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try {
            for (int length = in.readInt(); length != 0; length = in.readInt()) {
                if (length < 0 || length > in.available()) {
                    return null;
                }
                all.write(in.readNBytes(length));
            }
            return all.toByteArray();
        } catch (EOFException e) {
            return null;
        }
    }

    /** Nobody proves by chance to know the secret. */
    private static void greet(Input input) throws IOException {
        try (Socket socket = new ConnectionOf(input.rest())) {
            Handshake.prove(socket, new byte[] {1}, true);
        }
        fail("a stranger was believed");
    }
}
