package org.tegula.hadoop.task;

import java.io.IOException;

/** The pairs of a reader of the {@code mapred} interface, each with objects of its own, which must not be changed. */
interface OwnedPairs {
    /** Advances to the next pair; false if there is none. */
    boolean advance() throws IOException;

    /** The key that {@link #advance} has found. */
    Object key();

    /** The value that {@link #advance} has found. */
    Object value();
}
