package org.tegula.hadoop.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each target with the inputs that were kept, and with random changes of them. The inputs depend on the seed alone
 * ({@code -Dwire.seed}), their number on the time ({@code -Dwire.seconds}).
 */
class WireTest {
    private static final Path KEPT = Path.of("src/test/resources/wire");
    private static final Duration CHANGED_FOR = Duration.ofSeconds(Integer.getInteger("wire.seconds", 3));
    private static final long SEED = Long.getLong("wire.seed", 1);
    private static final int LONGEST_PART = 32;
    private static final long[] BORDERS = {0, 1, 0x7f, 0x80, 0xff, Integer.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE, -1
    };

    static Stream<String> targets() {
        return Targets.all().keySet().stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("targets")
    void whatOthersWriteIsReadOrRefused(String name) throws IOException {
        Target target = Targets.all().get(name);
        List<byte[]> kept = new ArrayList<>();
        int accepted = 0;
        for (Path file : kept(name)) {
            byte[] bytes = Files.readAllBytes(file);
            accepted += read(file.toString(), target, bytes) ? 1 : 0;
            kept.add(bytes);
        }
        assertTrue(accepted > 0, "each kept input was refused");
        Random random = new Random(SEED ^ name.hashCode());
        long began = System.nanoTime();
        for (int i = 0; System.nanoTime() - began < CHANGED_FOR.toNanos(); i++) {
            byte[] changed = kept.get(random.nextInt(kept.size()));
            for (int changes = 1 + random.nextInt(4); changes > 0; changes--) {
                changed = changed(changed, kept.get(random.nextInt(kept.size())), random);
            }
            read("change " + i + " of seed " + SEED, target, changed);
        }
    }

    private static List<Path> kept(String name) throws IOException {
        try (Stream<Path> files = Files.list(KEPT.resolve(name))) {
            return files.sorted().toList();
        }
    }

    private static boolean read(String name, Target target, byte[] bytes) {
        try {
            return Targets.read(target, bytes);
        } catch (RuntimeException | Error e) {
            throw new AssertionError(name + ": " + HexFormat.of().formatHex(bytes), e);
        }
    }

    /** Cuts an input off, flips a bit, sets a byte or a number, takes bytes out, repeats some, or puts in some of another input. */
    private static byte[] changed(byte[] bytes, byte[] other, Random random) {
        if (bytes.length == 0) {
            return other;
        }
        int at = random.nextInt(bytes.length);
        int end = at + 1 + random.nextInt(Math.min(bytes.length - at, LONGEST_PART));
        ByteBuffer set = ByteBuffer.wrap(bytes.clone());
        switch (random.nextInt(7)) {
            case 0 -> set = set.slice(0, at);
            case 1 -> set.put(at, (byte) (set.get(at) ^ 1 << random.nextInt(Byte.SIZE)));
            case 2 -> set.put(at, (byte) random.nextInt());
            case 3 -> {
                int width = Math.min(1 << random.nextInt(4), bytes.length - at);
                byte[] number = ByteBuffer.allocate(Long.BYTES)
                        .putLong(BORDERS[random.nextInt(BORDERS.length)])
                        .array();
                set.put(at, number, Long.BYTES - width, width);
            }
            case 4 -> set = joined(bytes, at, bytes, 0, 0, end);
            case 5 -> set = joined(bytes, end, bytes, at, end, end);
            default -> {
                int from = random.nextInt(other.length + 1);
                set = joined(bytes, at, other, from, Math.min(other.length, from + end - at), at);
            }
        }
        byte[] changed = new byte[set.remaining()];
        set.get(changed);
        return changed;
    }

    /** The bytes before an index, a part of others, and the bytes from another index on. */
    private static ByteBuffer joined(byte[] bytes, int before, byte[] others, int from, int to, int after) {
        return ByteBuffer.allocate(before + to - from + bytes.length - after)
                .put(bytes, 0, before)
                .put(others, from, to - from)
                .put(bytes, after, bytes.length - after)
                .flip();
    }
}
