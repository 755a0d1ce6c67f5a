package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All files of a JVM that are in memory alone, over one file system and for one user, by their absolute names there. They lie
 * below roots, each in a folder of that file system, and go when it does. So a folder that other programs delete or move is
 * gone here, too.
 */
final class HeldTree {
    private static final Logger LOG = LoggerFactory.getLogger(HeldTree.class);

    private final TreeMap<String, HeldFile> files = new TreeMap<>();
    private final TreeMap<String, Object> folderOfRoot = new TreeMap<>();
    private final PathLocks locks = new PathLocks();
    private final Halves halves = new Halves();
    /** Null until something is held. */
    private HeldFiles keeper;

    /** Makes who looks after a tree from its first file on, with a file system that nobody else closes. */
    interface Keepers {
        HeldFiles open() throws IOException;
    }

    /** Makes everything that is created at or below a name be held. The folder that it is in must be there. */
    synchronized void claim(String root, Keepers keepers) throws IOException {
        if (keeper == null) {
            keeper = keepers.open();
            keeper.flush().writeAtExit();
        }
        claim(root);
    }

    /** Puts all files into the file system below. */
    void writeAllToDisk() throws IOException {
        HeldFiles writer = keeper();
        if (writer != null) {
            writer.flush().writeAll();
        }
    }

    private synchronized HeldFiles keeper() {
        return keeper;
    }

    private void claim(String root) throws IOException {
        folderOfRoot.put(root, keeper.below().folder(parent(root)));
    }

    synchronized boolean isEmpty() {
        return folderOfRoot.isEmpty();
    }

    /** Returns whether files created under a name are held. */
    synchronized boolean isClaimed(String name) {
        return root(name) != null;
    }

    /** Makes a change in an output that is held when nobody else makes one there; another name has no such lock. */
    <T> T changeOutput(String name, PathLocks.Change<T> change) throws IOException {
        String root = rootOf(name);
        return root == null ? change.make() : locks.change(root, change);
    }

    /** Makes a change at or below two names, and wherever in their outputs, when nobody else makes one there. */
    <T> T change(String one, String other, PathLocks.Change<T> change) throws IOException {
        String first = rootOf(one);
        String second = rootOf(other);
        String ancestor = PathLocks.commonAncestor(first == null ? one : first, second == null ? other : second);
        return locks.change(ancestor, change);
    }

    private synchronized String rootOf(String name) {
        return root(name);
    }

    private String root(String name) {
        for (String at = name; !at.isEmpty(); at = parent(at)) {
            if (folderOfRoot.containsKey(at)) {
                return at;
            }
        }
        return null;
    }

    static String parent(String name) {
        return name.substring(0, Math.max(0, name.lastIndexOf('/')));
    }

    /** The roots at and below a name. */
    private List<String> rootsUnder(String name) {
        List<String> found = new ArrayList<>(below(folderOfRoot, name).keySet());
        if (folderOfRoot.containsKey(name)) {
            found.add(0, name);
        }
        return found;
    }

    /** Drops roots whose folder on the disk is gone or is another one, and files that the disk has, too. */
    private void dropWhatIsGone(String name) {
        List<String> roots = rootsUnder(name);
        for (String above = root(parent(name)); above != null; above = root(parent(above))) {
            roots.add(above);
        }
        for (String root : roots) {
            if (folderOfRoot.containsKey(root) && !isInPlace(root)) {
                removeAll(root);
            }
        }
        HeldFile file = files.get(name);
        if (file != null && !file.isFolder() && keeper.below().has(name)) {
            release(files.remove(name));
        }
    }

    private boolean isInPlace(String root) {
        try {
            return keeper.below().folder(parent(root)).equals(folderOfRoot.get(root));
        } catch (FileNotFoundException e) {
            return false;
        } catch (IOException e) {
            LOG.warn("Whether the folder of {} is still there is not known: its files in memory count", root, e);
            return true;
        }
    }

    /** The files on the disk that are not yet whole. They are made, moved and placed under the lock of this tree. */
    Halves halves() {
        return halves;
    }

    /** Returns the held file of a name, or null. */
    synchronized HeldFile at(String name) {
        dropWhatIsGone(name);
        return files.get(name);
    }

    /** Returns the name that a file or folder has now, or null if it is not held any more. */
    synchronized String nameOf(HeldFile file) {
        for (Map.Entry<String, HeldFile> each : files.entrySet()) {
            if (each.getValue() == file) {
                return at(each.getKey()) == file ? each.getKey() : null;
            }
        }
        return null;
    }

    synchronized void put(String name, HeldFile file) {
        HeldFile old = files.put(name, file);
        if (old != null) {
            release(old);
        }
    }

    /** Gives back the memory of a file that was taken out; nothing of it is left on the disk. */
    private void release(HeldFile file) {
        dropHalves(file);
        file.release();
    }

    private void dropHalves(HeldFile file) {
        halves.drop(file, keeper.below());
    }

    /** Takes a file out, if it is still the one that is meant; its memory is the caller's. */
    synchronized boolean take(String name, HeldFile file) {
        boolean isTaken = files.remove(name, file);
        if (isTaken) {
            dropHalves(file);
        }
        return isTaken;
    }

    /** Returns the name of a held file, not a folder, that a name is below, or null. */
    synchronized String fileAbove(String name) {
        for (String above = parent(name); root(above) != null; above = parent(above)) {
            HeldFile file = files.containsKey(above) ? at(above) : null;
            if (file != null && !file.isFolder()) {
                return above;
            }
        }
        return null;
    }

    private SortedMap<String, HeldFile> below(String name) {
        return below(files, name);
    }

    private static <V> SortedMap<String, V> below(TreeMap<String, V> all, String name) {
        return all.subMap(name + '/', name + (char) ('/' + 1));
    }

    /** Returns the names of held files directly in a folder. */
    synchronized List<String> children(String folder) {
        dropWhatIsGone(folder);
        List<String> children = new ArrayList<>();
        for (String name : below(folder).keySet()) {
            if (name.indexOf('/', folder.length() + 1) < 0) {
                children.add(name);
            }
        }
        return children;
    }

    /** Whether anything is held below a name, at any depth. */
    synchronized boolean hasBelow(String name) {
        dropWhatIsGone(name);
        return !below(name).isEmpty();
    }

    /** Returns all names at or below a name, folders before their contents. */
    synchronized List<String> under(String name) {
        List<String> found = new ArrayList<>();
        if (files.containsKey(name)) {
            found.add(name);
        }
        found.addAll(below(name).keySet());
        return found;
    }

    synchronized void removeAll(String name) {
        HeldFile file = files.remove(name);
        if (file != null) {
            release(file);
        }
        SortedMap<String, HeldFile> below = below(name);
        below.values().forEach(this::release);
        below.clear();
        rootsUnder(name).forEach(folderOfRoot::remove);
    }

    /** Renames everything at and below a name; a name that is no longer below a root becomes one. */
    synchronized void move(String from, String to) throws IOException {
        halves.move(from, to);
        Map<String, HeldFile> moved = new TreeMap<>(below(from));
        HeldFile self = files.get(from);
        if (self != null) {
            dropHalves(self);
            moved.put(from, self);
        }
        List<String> roots = rootsUnder(from);
        moved.keySet().forEach(files::remove);
        roots.forEach(folderOfRoot::remove);
        for (Map.Entry<String, HeldFile> each : moved.entrySet()) {
            put(to + each.getKey().substring(from.length()), each.getValue());
        }
        for (String root : roots) {
            if (!root.equals(from)) {
                claim(to + root.substring(from.length()));
            }
        }
        if (self != null && root(to) == null) {
            claim(to);
        }
    }

    /** The file that was not opened for longest, or null. */
    synchronized String oldest() {
        String oldest = null;
        long used = Long.MAX_VALUE;
        for (Map.Entry<String, HeldFile> each : files.entrySet()) {
            if (each.getValue().isComplete() && each.getValue().used() < used) {
                oldest = each.getKey();
                used = each.getValue().used();
            }
        }
        return oldest;
    }

    /** The names of files that nobody has used for long. */
    synchronized List<String> idle() {
        List<String> idle = new ArrayList<>();
        files.forEach((name, file) -> {
            if (file.isIdle()) {
                idle.add(name);
            }
        });
        return idle;
    }

    /** The sizes of files that are complete, by their names. */
    synchronized Map<String, Long> sizes() {
        Map<String, Long> sizes = new TreeMap<>();
        files.forEach((name, file) -> {
            if (file.isComplete()) {
                sizes.put(name, file.length());
            }
        });
        return sizes;
    }

    /** All roots. */
    synchronized List<String> roots() {
        return new ArrayList<>(folderOfRoot.keySet());
    }
}
