package org.tegula.hadoop.place;

import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/**
 * Starts the JVMs of places. Each runs {@link PlaceMain#host}, which connects to the driver; that the JVM has ended is seen by
 * its connection. Another module may bring one: it is found by Java's service loader.
 */
public interface PlaceLauncher extends Closeable {
    /**
     * Prepares to start places, if the setting is for this launcher.
     *
     * @param setting of {@code tegula.places}
     * @param conf of the engine
     * @return how many places there will be; 0 if the setting is for another launcher
     * @throws IOException if they cannot be started
     */
    int prepare(String setting, Configuration conf) throws IOException;

    /**
     * Starts a place, for the first time or after its loss. It need not be there when this returns.
     *
     * @param invitation what the place must know
     * @throws IOException if it cannot be started
     */
    void start(Invitation invitation) throws IOException;

    /**
     * Whether the process that was started last for a place may still connect.
     *
     * @param number of the place
     * @return false if it has ended
     */
    default boolean mayConnect(int number) {
        return true;
    }

    /**
     * Whether the loss of one place ends all others, too, which are started again with it.
     *
     * @return false if each place is started again by itself
     */
    default boolean startsAllAgain() {
        return false;
    }

    /** Ends what is left of all places. */
    @Override
    void close();
}
