package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;

/** Writes the contents of a call or of an answer. */
@FunctionalInterface
interface Body {
    /** Without contents. */
    Body EMPTY = out -> {};

    void write(DataOutput out) throws IOException;
}
