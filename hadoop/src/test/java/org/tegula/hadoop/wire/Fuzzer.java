package org.tegula.hadoop.wire;

/** What Jazzer calls with bytes made by coverage, for the target that the property {@code target} names. */
public final class Fuzzer {
    private static final Target TARGET = Targets.all().get(System.getProperty("target"));

    private Fuzzer() {}

    /**
     * Called by Jazzer.
     *
     * @param bytes to be read
     */
    public static void fuzzerTestOneInput(byte[] bytes) {
        Targets.read(TARGET, bytes);
    }
}
