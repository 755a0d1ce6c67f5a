package org.tegula.hadoop.cache;

import java.io.IOException;

/** The JVM that had the pairs of a file in memory has ended, and nobody else has them. */
public final class PairsLost extends IOException {
    /** The name of the JVM. */
    private final String place;

    /**
     * A loss.
     *
     * @param place the name of the JVM
     */
    public PairsLost(String place) {
        this(place, "the file");
    }

    private PairsLost(String place, String file) {
        super(place + " was lost: it alone had " + file + " in memory");
        this.place = place;
    }

    /**
     * Names the file.
     *
     * @param file its name
     * @return the same loss
     */
    public PairsLost of(String file) {
        return new PairsLost(place, file);
    }
}
