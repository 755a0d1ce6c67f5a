package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.cache.FileVersion;

/**
 * Any of Hadoop's file systems below files in memory, by its own calls alone.
 *
 * @param files the file system
 */
record RemoteBelow(FileSystem files) implements Below {
    private static final Logger LOG = LoggerFactory.getLogger(RemoteBelow.class);

    /** A URI, so that names of several file systems differ. */
    @Override
    public String name(Path path) {
        String name = files.makeQualified(path).toString();
        return name.endsWith("/") ? name.substring(0, name.length() - 1) : name;
    }

    @Override
    public Path path(String name) {
        return new Path(name);
    }

    @Override
    public Object folder(String name) throws IOException {
        FileStatus status = files.getFileStatus(new Path(name + "/"));
        if (!status.isDirectory()) {
            throw new FileNotFoundException(name + " is not a folder");
        }
        return FileVersion.identity(files, status);
    }

    @Override
    public boolean has(String name) {
        try {
            files.getFileStatus(new Path(name));
            return true;
        } catch (FileNotFoundException e) {
            return false;
        } catch (IOException e) {
            LOG.warn("Whether another program has written {} is not known: its file in memory counts", name, e);
            return false;
        }
    }

    @Override
    public boolean place(Path from, Path to) throws IOException {
        if (files.rename(from, to)) {
            return true;
        }
        if (files.exists(to)) {
            return false;
        }
        throw new IOException("The file system does not rename " + from + " to " + to);
    }

    @Override
    public boolean isLocal() {
        return false;
    }
}
