package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.tools.ToolProvider;

/** Programs that this JVM does not have. */
public final class JarOf {
    private JarOf() {}

    /** Compiles one class, with its nested classes, to a jar. */
    public static Path source(Path folder, String name, String source) throws IOException {
        Path classes = Files.createDirectories(folder.resolve("classes"));
        Path file = Files.writeString(folder.resolve(name + ".java"), source);
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        int code = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-cp", classPath, "-d", classes.toString(), file.toString());
        assertEquals(0, code);
        Path jar = folder.resolve(name + ".jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
                Stream<Path> all = Files.list(classes)) {
            for (Path each : (Iterable<Path>) all.sorted()::iterator) {
                out.putNextEntry(new ZipEntry(each.getFileName().toString()));
                out.write(Files.readAllBytes(each));
            }
        }
        return jar;
    }
}
