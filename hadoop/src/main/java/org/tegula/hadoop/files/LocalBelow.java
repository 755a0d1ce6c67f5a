package org.tegula.hadoop.files;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.apache.hadoop.fs.Path;

/**
 * The local disk below files in memory.
 *
 * @param files the disk
 */
record LocalBelow(LocalDisk files) implements Below {
    /** Absolute, and where links on the disk lead. */
    @Override
    public String name(Path path) throws IOException {
        File file = files.pathToFile(path);
        File folder = file.getParentFile();
        return folder == null ? file.getPath() : new File(folder.getCanonicalFile(), file.getName()).getPath();
    }

    @Override
    public Path path(String name) {
        return new Path(new Path("file:///"), new Path(null, null, name));
    }

    @Override
    public Object folder(String name) throws IOException {
        try {
            return Files.readAttributes(java.nio.file.Path.of(name.isEmpty() ? "/" : name), BasicFileAttributes.class)
                    .fileKey();
        } catch (FileSystemException e) {
            throw e instanceof AccessDeniedException
                    ? e
                    : (IOException) new FileNotFoundException(name + " does not exist").initCause(e);
        }
    }

    @Override
    public boolean has(String name) {
        return Files.exists(java.nio.file.Path.of(name), LinkOption.NOFOLLOW_LINKS);
    }

    @Override
    public boolean place(Path from, Path to) throws IOException {
        Files.move(files.pathToFile(from).toPath(), files.pathToFile(to).toPath(), StandardCopyOption.ATOMIC_MOVE);
        return true;
    }

    @Override
    public boolean isLocal() {
        return true;
    }
}
