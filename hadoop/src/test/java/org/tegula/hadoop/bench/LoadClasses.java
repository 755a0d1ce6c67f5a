package org.tegula.hadoop.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Loads and initialises the classes of a list, and does nothing with them: the start of a job's JVM before its work. */
public final class LoadClasses {
    private LoadClasses() {}

    /**
     * Loads classes.
     *
     * @param arguments options of Hadoop, which are ignored, and a file of names
     * @throws IOException if the list cannot be read
     */
    public static void main(String[] arguments) throws IOException {
        int loaded = 0;
        for (String name : Files.readAllLines(Path.of(arguments[arguments.length - 1]))) {
            try {
                Class.forName(name);
                loaded++;
            } catch (ClassNotFoundException | LinkageError e) {
                System.err.println(name + " was not loaded: " + e);
            }
        }
        System.out.println("{\"classes\": " + loaded + "}");
    }
}
