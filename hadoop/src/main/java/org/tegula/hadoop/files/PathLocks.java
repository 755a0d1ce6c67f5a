package org.tegula.hadoop.files;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Locks of names in a tree, so that a change of several steps, such as a rename, is one step to all other changes. Who changes
 * names locks their least common ancestor for itself, and all folders above that one together with others, from the root
 * downwards. So changes in different folders do not wait for each other, and no two wait for each other in turn: whoever holds
 * a lock waits only for one that is deeper on the same path. The order is that of the paper on M3R (section 5.2).
 */
final class PathLocks {
    private final Map<String, Node> nodes = new HashMap<>();

    /** The lock of one name, as long as someone has it or waits for it. */
    private static final class Node {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        private int users;
    }

    /** What is done with a lock. Further locks that it takes must be of names at or below the locked one. */
    interface Change<T> {
        T make() throws IOException;
    }

    /** Makes a change when nobody else makes one at or below a name. */
    <T> T change(String name, Change<T> change) throws IOException {
        return below(name, name.indexOf('/'), change);
    }

    /** Shares the folders of a name from the one that ends at a slash on. */
    private <T> T below(String name, int slash, Change<T> change) throws IOException {
        String folder = slash < 0 ? name : name.substring(0, slash);
        Node node = use(folder);
        if (slash < 0 && node.lock.getReadHoldCount() > 0 && !node.lock.isWriteLockedByCurrentThread()) {
            leave(folder, node);
            throw new IllegalStateException("A change below " + name + " cannot change all of it");
        }
        Lock lock = slash < 0 ? node.lock.writeLock() : node.lock.readLock();
        lock.lock();
        try {
            return slash < 0 ? change.make() : below(name, name.indexOf('/', slash + 1), change);
        } finally {
            lock.unlock();
            leave(folder, node);
        }
    }

    private synchronized Node use(String name) {
        Node node = nodes.computeIfAbsent(name, none -> new Node());
        node.users++;
        return node;
    }

    private synchronized void leave(String name, Node node) {
        if (--node.users == 0) {
            nodes.remove(name);
        }
    }

    /** The last folder that two names are in, or one of them if the other is in it; empty for the root. */
    static String commonAncestor(String one, String other) {
        if (one.equals(other) || other.startsWith(one + "/")) {
            return one;
        }
        if (one.startsWith(other + "/")) {
            return other;
        }
        int end = 0;
        int shorter = Math.min(one.length(), other.length());
        for (int i = 0; i < shorter && one.charAt(i) == other.charAt(i); i++) {
            if (one.charAt(i) == '/') {
                end = i;
            }
        }
        return one.substring(0, end);
    }

    /** How many names are locked or waited for. */
    synchronized int size() {
        return nodes.size();
    }
}
