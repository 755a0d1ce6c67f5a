package org.tegula.hadoop.files;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.Path;

/**
 * The files on the disk that are not yet whole. Each lies in the folder of the file that it becomes, from which it has its group
 * and its access rights. It moves with that folder, and no listing shows it.
 */
final class Halves {
    /** How their names begin, and those of no other files: neither of a program nor of another JVM, which may have left them. */
    private final String prefix = ".tegula-" + UUID.randomUUID() + "-";

    private final List<Half> all = new ArrayList<>();
    private long begun;

    /** A file that is not yet whole. Its names are read under the lock of the tree. */
    static final class Half {
        /** Not made of the name of the whole file, which may be as long as names can be. */
        private final String own;

        private final String whole;
        private String folder;

        private Half(String own, String name) {
            this.own = own;
            folder = HeldTree.parent(name);
            whole = name.substring(folder.length() + 1);
        }

        /** Where it is now. */
        String name() {
            return folder + "/" + own;
        }

        /** The name that it gets once it is whole. */
        String wholeName() {
            return folder + "/" + whole;
        }
    }

    /** Begins a file of a name. */
    synchronized Half begin(String name) {
        Half half = new Half(prefix + begun++, name);
        all.add(half);
        return half;
    }

    synchronized void end(Half half) {
        all.remove(half);
    }

    /** Whether a path is of a file that is not yet whole, or was not until now. */
    boolean has(Path path) {
        return path.getName().startsWith(prefix);
    }

    /** Notes that all at and below a name was renamed. */
    synchronized void move(String from, String to) {
        for (Half each : all) {
            if (each.folder.equals(from) || each.folder.startsWith(from + "/")) {
                each.folder = to + each.folder.substring(from.length());
            }
        }
    }
}
