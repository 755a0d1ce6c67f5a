package org.tegula.hadoop.place;

import java.io.IOException;

/** A place does not answer any more; what it had in memory is gone. */
public final class PlaceLost extends IOException {
    /**
     * A loss.
     *
     * @param place its name
     * @param why what was seen of it
     */
    public PlaceLost(String place, String why) {
        super(place + " was lost: " + why);
    }
}
