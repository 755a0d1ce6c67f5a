package org.tegula.hadoop.files;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.client.ServerConnection;
import org.tegula.hadoop.client.ServerException;
import org.tegula.hadoop.server.ServerProtocol;

/**
 * The local disk as a client of a server sees it: with the outputs that the server has in memory alone. They are listed,
 * renamed and deleted there; for any other operation, the server puts the file on the disk first.
 */
final class ServedFileSystem extends LocalDisk {
    private static final Logger LOG = LoggerFactory.getLogger(ServedFileSystem.class);

    private final LocalDisk disk = new LocalDisk();
    private ServerProtocol server;

    /** For a client with {@link Settings#SERVER_ADDRESS}. */
    ServedFileSystem() {}

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        disk.initialize(uri, conf);
        server = ServerConnection.open(conf, conf.getTrimmed(Settings.SERVER_ADDRESS));
    }

    @Override
    public void close() throws IOException {
        super.close();
        ServerConnection.close(server);
    }

    @Override
    public void setWorkingDirectory(Path folder) {
        super.setWorkingDirectory(folder);
        disk.setWorkingDirectory(folder);
    }

    private String name(Path path) {
        return makeQualified(path).toString();
    }

    /**
     * Returns whether the server must be asked. A server that has ended has put everything on the disk. If one is running and
     * does not answer, the state of the path is unknown.
     */
    private boolean isServed(Path path) throws IOException {
        try {
            return server.holds(name(path));
        } catch (ServerException.Gone e) {
            LOG.debug("Only the disk is asked about {}", path, e);
            return false;
        }
    }

    /** Returns a file of the disk, after the server has written it there if necessary. */
    @Override
    public File pathToFile(Path path) {
        try {
            if (isServed(path)) {
                server.writeHeld(name(path));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return super.pathToFile(path);
    }

    @Override
    public boolean exists(Path path) throws IOException {
        return isServed(path) ? server.heldStatus(name(path)) != null : disk.exists(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        FileStatus held = isServed(path) ? server.heldStatus(name(path)) : null;
        return held == null ? disk.getFileStatus(path) : held;
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        return isServed(path) ? getFileStatus(path) : disk.getFileLinkStatus(path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return isServed(path) ? server.listHeld(name(path)) : disk.listStatus(path);
    }

    @Override
    public boolean mkdirs(Path path) throws IOException {
        return disk.mkdirs(path);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return disk.mkdirs(path, permission);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return isServed(path) ? server.deleteHeld(name(path), recursive) : disk.delete(path, recursive);
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return isServed(from) || isServed(to) ? server.renameHeld(name(from), name(to)) : disk.rename(from, to);
    }
}
