package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.files.DriverFiles;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** The contents of calls and answers between places: what is read and written again is read as the same. */
public final class MessagesTarget implements Target {
    /** Reads what a message has, and returns how it is written. */
    private interface Reader {
        Body read(Message in) throws IOException;
    }

    private static final Reader[] READERS = {
        in -> MapOutput.read(in)::write,
        in -> PlaceState.read(in)::write,
        MessagesTarget::settings,
        MessagesTarget::fault,
        MessagesTarget::status,
        MessagesTarget::version,
        in -> in.split()::write,
        in -> {
            String attempt = in.attempt().toString();
            return out -> out.writeUTF(attempt);
        }
    };

    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        int choice = input.choice() % (READERS.length + 2);
        if (choice == READERS.length) {
            readNews(input);
        } else if (choice > READERS.length) {
            callFiles(input);
        } else {
            byte[] written = written(READERS[choice].read(new Message(input.rest())));
            Message again = new Message(written);
            assertArrayEquals(written, written(READERS[choice].read(again)));
            assertEquals(0, again.left());
        }
    }

    static byte[] written(Body body) throws IOException {
        DataOutputBuffer out = new DataOutputBuffer();
        body.write(out);
        return Arrays.copyOf(out.getData(), out.getLength());
    }

    private static Body settings(Message in) throws IOException {
        SentSettings read = SentSettings.read(in);
        DataOutputBuffer out = new DataOutputBuffer();
        read.write(out);
        SentSettings again = SentSettings.read(new Message(Arrays.copyOf(out.getData(), out.getLength())));
        assertEquals(read, again);
        return outAgain -> outAgain.write(out.getData(), 0, out.getLength());
    }

    /** A fault has another stack at the place that writes it again. */
    private static Body fault(Message in) throws IOException {
        String text = RemoteFault.read(in).toString();
        return out -> {
            Text.writeString(out, text);
            Text.writeString(out, "");
        };
    }

    private static Body status(Message in) throws IOException {
        FileStatus status = FileCalls.status(in);
        return out -> FileCalls.write(status, out);
    }

    private static Body version(Message in) throws IOException {
        FileVersion version = FileCalls.version(in);
        return out -> FileCalls.write(version, out);
    }

    /** Blocks of other JVMs, beside the same fields read in turn. */
    private static void readNews(Input input) throws IOException {
        PairCache cache = new PairCache(0);
        Set<String> heard = new HashSet<>();
        cache.listen(new PairCache.Listener() {
            @Override
            public void renamed(String from, String to) {
                heard.add(from);
            }
        });
        BlockNews.read(new Message(input.rest()), cache);
        Set<String> expected = new HashSet<>();
        DataInputStream in = input.stream();
        for (int left = in.readInt(); left > 0; left--) {
            Text.readString(in);
            String name = Text.readString(in);
            in.skipNBytes(2 * Long.BYTES);
            Text.readString(in);
            in.readInt();
            expected.add(name);
        }
        String longer = "m".repeat(1 + input.rest().length); // than any name in the input
        for (String name : expected) {
            cache.renamed(name, longer, moved -> null);
            boolean isInAnother = expected.stream().anyMatch(other -> name.startsWith(other + "/"));
            assertTrue(heard.contains(name) || isInAnother, name);
        }
    }

    /** The driver's files are asked with what a place has sent. */
    private static void callFiles(Input input) throws IOException {
        DriverFiles files = (DriverFiles) Proxy.newProxyInstance(
                DriverFiles.class.getClassLoader(), new Class<?>[] {DriverFiles.class}, (proxy, method, arguments) -> {
                    Class<?> type = method.getReturnType();
                    return type == boolean.class ? true : type == FileStatus[].class ? new FileStatus[0] : null;
                });
        byte[] rest = input.rest();
        if (rest.length > 0 && rest[0] == FileCalls.Kind.ADD.ordinal()) {
            throw new IOException("Pairs are added by a place that is there");
        }
        written(FileCalls.answer(new Message(rest), files, null));
    }
}
