package org.tegula.hadoop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Folders as maps from names to contents. */
public final class Trees {
    private Trees() {}

    /** All files below a folder, checksums of Hadoop among them; bytes as Latin-1. */
    public static Map<String, String> read(Path folder) throws IOException {
        Map<String, String> files = new TreeMap<>();
        if (!Files.exists(folder)) {
            return files;
        }
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : (Iterable<Path>) paths.filter(Files::isRegularFile)::iterator) {
                files.put(folder.relativize(path).toString(), Files.readString(path, StandardCharsets.ISO_8859_1));
            }
        }
        return files;
    }

    /** The texts of this project's own documentation, as input. */
    public static Path documentation() {
        return Path.of("..", "docs").toAbsolutePath().normalize();
    }
}
