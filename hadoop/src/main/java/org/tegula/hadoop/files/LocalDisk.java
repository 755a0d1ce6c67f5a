package org.tegula.hadoop.files;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local disk, whose permissions and owners are read and set by system calls. Hadoop without its native library starts a
 * process for each file that it lists or creates.
 */
class LocalDisk extends RawLocalFileSystem {
    private static final short PERMISSION_BITS = 01777;
    private static final String ATTRIBUTES = "unix:mode,uid,gid,size,lastModifiedTime,lastAccessTime,isDirectory";
    private static final Map<Object, String> USERS = new ConcurrentHashMap<>();
    private static final Map<Object, String> GROUPS = new ConcurrentHashMap<>();

    @Override
    public FileStatus getFileStatus(org.apache.hadoop.fs.Path path) throws IOException {
        Path file = pathToFile(path).toPath();
        try {
            Map<String, Object> found = Files.readAttributes(file, ATTRIBUTES);
            return new FileStatus(
                    (long) found.get("size"),
                    (boolean) found.get("isDirectory"),
                    1,
                    getDefaultBlockSize(path),
                    millis(found.get("lastModifiedTime")),
                    millis(found.get("lastAccessTime")),
                    new FsPermission((short) ((int) found.get("mode") & PERMISSION_BITS)),
                    name(USERS, found.get("uid"), file, "unix:owner"),
                    name(GROUPS, found.get("gid"), file, "unix:group"),
                    new org.apache.hadoop.fs.Path(file.toString()).makeQualified(getUri(), getWorkingDirectory()));
        } catch (FileSystemException e) {
            throw missing(path, e);
        }
    }

    private static long millis(Object time) {
        return ((FileTime) time).toMillis();
    }

    private static String name(Map<Object, String> known, Object number, Path file, String attribute)
            throws IOException {
        String name = known.get(number);
        if (name == null) {
            name = ((java.security.Principal) Files.getAttribute(file, attribute)).getName();
            known.put(number, name);
        }
        return name;
    }

    private static IOException missing(org.apache.hadoop.fs.Path path, FileSystemException cause) {
        return (IOException) new FileNotFoundException("File " + path + " does not exist").initCause(cause);
    }

    @Override
    public void setPermission(org.apache.hadoop.fs.Path path, FsPermission permission) throws IOException {
        try {
            Files.setAttribute(pathToFile(path).toPath(), "unix:mode", (int) permission.toShort());
        } catch (NoSuchFileException e) {
            throw missing(path, e);
        }
    }
}
