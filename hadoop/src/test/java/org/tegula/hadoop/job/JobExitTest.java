package org.tegula.hadoop.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.JarOf;

/** Classes are changed where they would end the JVM, and nowhere else. */
class JobExitTest {
    @TempDir
    Path folder;

    private byte[] type;

    @BeforeEach
    void compile() throws Exception {
        JarOf.source(
                folder,
                "Leaves",
                """
                public class Leaves implements java.util.function.IntConsumer {
                    private static final double HALF = 0.5;
                    private static final String NAME = "System.exit grün";
                    static long twice(long value) {
                        return value * 0x123456789abcL + (long) (HALF * NAME.length());
                    }
                    @Override
                    public void accept(int status) {
                        java.util.function.IntConsumer leave = System::exit;
                        if (status > 5) {
                            leave.accept(status);
                        } else if (status > 0) {
                            System.exit(status);
                        }
                        twice(System.nanoTime());
                    }
                }
                """);
        type = Files.readAllBytes(folder.resolve("classes/Leaves.class"));
    }

    private IntConsumer load(byte[] bytes) throws Exception {
        ClassLoader loader = new ClassLoader(JobExit.class.getClassLoader()) {
            @Override
            protected Class<?> findClass(String name) {
                return defineClass(name, bytes, 0, bytes.length);
            }
        };
        return (IntConsumer) loader.loadClass("Leaves").getConstructor().newInstance();
    }

    @Test
    void callsAndReferencesEndAnAttempt() throws Exception {
        byte[] changed = JobExit.in(type);
        assertNotSame(type, changed);
        IntConsumer program = load(changed);
        program.accept(0);
        assertEquals(
                "The program has called System.exit(3)",
                assertThrows(JobExit.Called.class, () -> program.accept(3)).getMessage());
        assertThrows(JobExit.Called.class, () -> program.accept(7));
    }

    @Test
    void classesThatDoNotExitStayAsTheyAre() throws Exception {
        byte[] own = JobExitTest.class.getResourceAsStream("JobExitTest.class").readAllBytes();
        assertSame(own, JobExit.in(own));
        byte[] changed = JobExit.in(type);
        assertSame(changed, JobExit.in(changed));
    }

    @Test
    void whatIsNoClassIsLeftToTheJvm() {
        for (int length = 0; length < type.length / 2; length++) {
            byte[] cut = Arrays.copyOf(type, length);
            assertSame(cut, JobExit.in(cut));
        }
        byte[] odd = type.clone();
        odd[10] = 99;
        assertSame(odd, JobExit.in(odd));
    }
}
