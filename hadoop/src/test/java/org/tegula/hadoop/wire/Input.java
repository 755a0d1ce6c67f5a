package org.tegula.hadoop.wire;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;

/** The bytes of a target: the first may be a choice, the others are what is read. */
public final class Input {
    private static final Path FOLDER = folder();

    private final byte[] bytes;
    private int start;

    /**
     * All of it.
     *
     * @param bytes of the target
     */
    public Input(byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * Takes the next byte for a choice.
     *
     * @return 0 if there is none
     */
    public int choice() {
        return start < bytes.length ? Byte.toUnsignedInt(bytes[start++]) : 0;
    }

    /**
     * What is left.
     *
     * @return a copy
     */
    public byte[] rest() {
        return Arrays.copyOfRange(bytes, start, bytes.length);
    }

    /**
     * What is left, as a stream.
     *
     * @return a stream of its own
     */
    public DataInputStream stream() {
        return new DataInputStream(new ByteArrayInputStream(bytes, start, bytes.length - start));
    }

    /**
     * What is left, in a file.
     *
     * @param name of the file; there is one of each name
     * @return its path
     * @throws IOException if it cannot be written
     */
    public Path file(String name) throws IOException {
        return Files.write(FOLDER.resolve(name), rest());
    }

    /**
     * An empty folder.
     *
     * @param name of the folder
     * @return its path
     */
    public static Path folder(String name) {
        try {
            return Files.createDirectories(FOLDER.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path folder() {
        try {
            Path memory = Path.of("/dev/shm");
            Path made = Files.isWritable(memory)
                    ? Files.createTempDirectory(memory, "tegula-wire-")
                    : Files.createTempDirectory("tegula-wire-");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(made)));
            return made;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void delete(Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            all.sorted(Comparator.reverseOrder()).forEach(each -> each.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
