package org.tegula.hadoop.place;

import java.io.Closeable;
import java.util.List;

/**
 * Where tasks run: this JVM, a part of it, or another JVM that lives as long as the engine. A place has a fixed number, and the
 * data of some partitions: what it keeps of them is never looked for elsewhere.
 */
public interface Place extends Closeable {
    /**
     * Begins a job here. It costs little if no task of the job comes.
     *
     * @param job the job
     * @param all its parts at all places, by their numbers; they are there when its first attempt is made
     * @return the place's part of it, to be closed
     */
    PlaceJob begin(PlacedJob job, List<PlaceJob> all);

    /**
     * Returns a text for people.
     *
     * @return the number of the place, and where it is
     */
    String name();

    /** Ends the place; jobs have ended before. */
    @Override
    void close();
}
