package org.tegula.hadoop.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each target with the inputs that were kept, and with each of them cut short or changed in some bytes. */
class WireTest {
    private static final Path KEPT = Path.of("src/test/resources/wire");
    private static final int CHANGED = 20;

    static Stream<String> targets() {
        return Targets.all().keySet().stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("targets")
    void whatOthersWriteIsReadOrRefused(String name) throws IOException {
        Random random = new Random(1);
        Target target = Targets.all().get(name);
        int accepted = 0;
        for (Path file : kept(name)) {
            byte[] bytes = Files.readAllBytes(file);
            accepted += read(file, target, bytes) ? 1 : 0;
            for (int i = 0; i < CHANGED; i++) {
                read(file, target, changed(bytes, random));
            }
        }
        assertTrue(accepted > 0, "each kept input was refused");
    }

    private static List<Path> kept(String name) throws IOException {
        try (Stream<Path> files = Files.list(KEPT.resolve(name))) {
            return files.sorted().toList();
        }
    }

    private static boolean read(Path file, Target target, byte[] bytes) {
        try {
            return Targets.read(target, bytes);
        } catch (RuntimeException | Error e) {
            throw new AssertionError(
                    file + " or what it was changed to: " + HexFormat.of().formatHex(bytes), e);
        }
    }

    private static byte[] changed(byte[] bytes, Random random) {
        if (bytes.length == 0) {
            return bytes;
        }
        byte[] changed = bytes.clone();
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(3)) {
            case 0 -> changed = Arrays.copyOf(bytes, at);
            case 1 -> changed[at] ^= (byte) (1 << random.nextInt(Byte.SIZE));
            default -> changed[at] = (byte) random.nextInt();
        }
        return changed;
    }
}
