package org.tegula.hadoop.files;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.client.ServerConnection;
import org.tegula.hadoop.client.ServerException;
import org.tegula.hadoop.server.ServerProtocol;

/**
 * A file system as a client of a server sees it: with the outputs that the server has in memory alone. They are listed,
 * renamed and deleted there; for any other operation, the server puts the file into the file system below first.
 */
final class ServedOverlay implements Overlay, Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(ServedOverlay.class);

    private final FileSystem below;
    private final ServerProtocol server;

    /** For a client with {@link Settings#SERVER_ADDRESS}. */
    ServedOverlay(FileSystem below, Configuration conf) throws IOException {
        this.below = below;
        server = ServerConnection.open(conf, conf.getTrimmed(Settings.SERVER_ADDRESS));
    }

    @Override
    public void close() {
        ServerConnection.close(server);
    }

    private String name(Path path) {
        return below.makeQualified(path).toString();
    }

    /**
     * Returns whether the server must be asked. A server that has ended has put everything on the disk. If one is running and
     * does not answer, the state of the path is unknown.
     */
    @Override
    public boolean concerns(Path path) throws IOException {
        try {
            return server.holds(name(path));
        } catch (ServerException.Gone e) {
            LOG.debug("Only the disk is asked about {}", path, e);
            return false;
        }
    }

    @Override
    public void writeToDisk(Path path) throws IOException {
        if (concerns(path)) {
            server.writeHeld(name(path));
        }
    }

    @Override
    public FSInputStream open(Path path, FileSystem.Statistics statistics) throws IOException {
        writeToDisk(path);
        return null;
    }

    @Override
    public OutputStream create(Path path, FsPermission permission, boolean makesFolder) throws IOException {
        writeToDisk(path);
        return null;
    }

    @Override
    public boolean wouldHold(Path path) {
        return false;
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return concerns(path) ? server.heldStatus(name(path)) != null : below.exists(path);
    }

    @Override
    public FileStatus status(Path path) throws IOException {
        FileStatus held = concerns(path) ? server.heldStatus(name(path)) : null;
        return held == null ? below.getFileStatus(path) : held;
    }

    @Override
    public FileStatus[] list(Path path) throws IOException {
        return concerns(path) ? server.listHeld(name(path)) : below.listStatus(path);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return permission == null ? below.mkdirs(path) : below.mkdirs(path, permission);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return concerns(path) ? server.deleteHeld(name(path), recursive) : below.delete(path, recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return concerns(from) || concerns(to) ? server.renameHeld(name(from), name(to)) : below.rename(from, to);
    }

    @Override
    public boolean setPermission(Path path, FsPermission permission) throws IOException {
        writeToDisk(path);
        return false;
    }
}
