package org.tegula.hadoop;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How tests start a JVM of their own: with their class path, and quickly. */
public final class Jvms {
    private Jvms() {}

    /** A command that runs a class; its arguments follow. */
    public static List<String> command(Class<?> main, String... options) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        return command;
    }
}
