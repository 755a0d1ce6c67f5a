package org.tegula.hadoop.files;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files on the disk that are not yet whole. Each lies in the folder of the file that it becomes, from which it has its group
 * and its access rights. It moves with that folder, and no listing shows it. It goes at once when the file leaves its name: a
 * folder that seems empty is empty, so it can be deleted or replaced.
 */
final class Halves {
    private static final Logger LOG = LoggerFactory.getLogger(Halves.class);

    /** How their names begin, and those of no other files: neither of a program nor of another JVM, which may have left them. */
    private final String prefix = ".tegula-" + UUID.randomUUID() + "-";

    private final List<Half> all = new ArrayList<>();
    private long begun;

    /** A file that is not yet whole. Its names are read under the lock of the tree. */
    static final class Half {
        /** Not made of the name of the whole file, which may be as long as names can be. */
        private final String own;

        private final HeldFile file;
        private final String whole;
        private String folder;

        private Half(String own, String name, HeldFile file) {
            this.own = own;
            this.file = file;
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

    /** Begins to write a file that is in memory under a name. */
    synchronized Half begin(String name, HeldFile file) {
        Half half = new Half(prefix + begun++, name, file);
        all.add(half);
        return half;
    }

    synchronized void end(Half half) {
        all.remove(half);
    }

    /** Deletes all that are written of a file in memory, because it leaves its name. Who writes one may go on. */
    synchronized void drop(HeldFile file, Below below) {
        for (Half each : all.stream().filter(half -> half.file == file).toList()) {
            end(each);
            try {
                below.files().delete(below.path(each.name()), false);
            } catch (IOException e) {
                LOG.warn("{} is in its folder until the end of its writing", each.name(), e);
            }
        }
    }

    /** Whether one has neither ended nor been deleted. */
    synchronized boolean contains(Half half) {
        return all.contains(half);
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
