package org.tegula.hadoop.files;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** The file system that files in memory lie over, and go to in the end. */
interface Below {
    /** The file system itself: nothing in memory is visible in it. */
    FileSystem files();

    /** Returns the name by which a path is held, if anything is: absolute, with slashes between its parts, one for each file. */
    String name(Path path) throws IOException;

    /** Returns the path of such a name. */
    Path path(String name);

    /**
     * Returns which folder it is that has a name now: another one of the name is not equal to it.
     *
     * @throws java.io.FileNotFoundException if there is none
     * @throws IOException if the file system does not answer
     */
    Object folder(String name) throws IOException;

    /** Returns whether there is anything of a name; false if the file system does not answer. */
    boolean has(String name);

    /**
     * Renames a file, which is complete from the first moment at which others see it.
     *
     * @return false if there is already a file of the new name, which then stays
     */
    boolean place(Path from, Path to) throws IOException;

    /**
     * Returns whether this is a local disk, as Hadoop shows it. There, a rename replaces a file or an empty folder of the new name,
     * and nothing is below a file. On HDFS, a rename replaces nothing and moves into a folder of the new name, and any call that
     * names something below a file fails.
     */
    boolean isLocal();
}
