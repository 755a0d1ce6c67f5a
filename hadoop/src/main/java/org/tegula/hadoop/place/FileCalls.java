package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.security.PrivilegedExceptionAction;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.UserGroupInformation;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.files.DriverFiles;
import org.tegula.hadoop.files.HeldFileSystems;

/** A place's end of the calls for its driver's files, and the pairs of those files that are at the place. */
final class FileCalls implements DriverFiles {
    private static final int NO_PERMISSION = -1;

    private final Calls driver;
    private final String place;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<String, SequencePairs> pairs = new ConcurrentHashMap<>();

    /** What is asked. */
    enum Kind {
        CONCERNS,
        STATUS,
        LIST,
        MKDIRS,
        DELETE,
        RENAME,
        SET_PERMISSION,
        WRITE_TO_DISK,
        WOULD_HOLD,
        ADD,
        PAIRS,
        VERSION
    }

    /** The name of the place is that of no other, also not of one that had its number before. */
    FileCalls(Calls driver, String place) {
        this.driver = driver;
        this.place = place;
    }

    /** The pairs of a file that is at this place; null if they were given up. */
    SequencePairs own(String id) {
        return pairs.get(id);
    }

    /** Gives up the pairs of a file. */
    void drop(String id) {
        SequencePairs dropped = pairs.remove(id);
        if (dropped != null) {
            dropped.release();
        }
    }

    private Message ask(Kind kind, String path, Body more) throws IOException {
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        try {
            return driver.send(Op.FILES, out -> {
                        out.writeByte(kind.ordinal());
                        Text.writeString(out, user);
                        Text.writeString(out, path);
                        more.write(out);
                    })
                    .get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException("The task was stopped").initCause(e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RemoteFault fault
                    ? fault.ofFiles()
                    : new IOException(e.getCause().toString(), e.getCause());
        }
    }

    private boolean isTrue(Kind kind, String path, Body more) throws IOException {
        return ask(kind, path, more).readBoolean();
    }

    @Override
    public boolean concerns(String path) throws IOException {
        return isTrue(Kind.CONCERNS, path, Body.EMPTY);
    }

    @Override
    public FileStatus status(String path) throws IOException {
        Message answer = ask(Kind.STATUS, path, Body.EMPTY);
        return answer.readBoolean() ? status(answer) : null;
    }

    /** Of the status of a file, its length comes first. */
    static FileStatus status(Message in) throws IOException {
        in.mark(0);
        in.count(1);
        in.reset();
        return in.read(new FileStatus());
    }

    @Override
    public FileStatus[] list(String path) throws IOException {
        Message answer = ask(Kind.LIST, path, Body.EMPTY);
        FileStatus[] all = new FileStatus[answer.count(Integer.BYTES)];
        for (int i = 0; i < all.length; i++) {
            all[i] = status(answer);
        }
        return all;
    }

    @Override
    public boolean mkdirs(String path, FsPermission permission) throws IOException {
        return isTrue(Kind.MKDIRS, path, out -> out.writeShort(code(permission)));
    }

    private static int code(FsPermission permission) {
        return permission == null ? NO_PERMISSION : permission.toShort();
    }

    @Override
    public boolean delete(String path, boolean recursive) throws IOException {
        return isTrue(Kind.DELETE, path, out -> out.writeBoolean(recursive));
    }

    @Override
    public boolean rename(String from, String to) throws IOException {
        return isTrue(Kind.RENAME, from, out -> Text.writeString(out, to));
    }

    @Override
    public boolean setPermission(String path, FsPermission permission) throws IOException {
        return isTrue(Kind.SET_PERMISSION, path, out -> out.writeShort(code(permission)));
    }

    @Override
    public void writeToDisk(String path) throws IOException {
        ask(Kind.WRITE_TO_DISK, path, Body.EMPTY);
    }

    @Override
    public boolean wouldHold(String path) throws IOException {
        return isTrue(Kind.WOULD_HOLD, path, Body.EMPTY);
    }

    @Override
    public boolean add(String path, SequencePairs added, int home) throws IOException {
        String id = place + "-" + numbers.incrementAndGet();
        pairs.put(id, added);
        boolean isAdded = isTrue(Kind.ADD, path, out -> {
            out.writeUTF(id);
            out.writeLong(added.length());
            out.writeInt(home);
        });
        if (!isAdded) {
            pairs.remove(id);
        }
        return isAdded;
    }

    @Override
    public SequencePairs pairs(String path) throws IOException {
        return pairs.get(ask(Kind.PAIRS, path, Body.EMPTY).readUTF());
    }

    @Override
    public FileVersion version(String path) throws IOException {
        return version(ask(Kind.VERSION, path, Body.EMPTY));
    }

    static FileVersion version(Message in) throws IOException {
        return in.readBoolean() ? new FileVersion(in.readLong(), in.readLong(), in.readUTF(), in.readLong()) : null;
    }

    /** Answers at the driver; what is added is at the place that calls. Other file systems than the disk know users. */
    static Body answer(Message in, DriverFiles files, RemotePlace place) throws IOException {
        Kind kind = in.oneOf(Kind.values());
        String user = in.text();
        String path = in.text();
        if (HeldFileSystems.isLocal(Message.path(path))) {
            return answer(kind, path, in, files, place);
        }
        try {
            return user(user).doAs((PrivilegedExceptionAction<Body>) () -> answer(kind, path, in, files, place));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException(e.toString()).initCause(e);
        }
    }

    private static UserGroupInformation user(String name) throws IOException {
        UserGroupInformation own = UserGroupInformation.getLoginUser();
        return own.getShortUserName().equals(name) ? own : Message.user(name);
    }

    private static Body answer(Kind kind, String path, Message in, DriverFiles files, RemotePlace place)
            throws IOException {
        return switch (kind) {
            case CONCERNS -> truth(files.concerns(path));
            case STATUS -> {
                FileStatus status = files.status(path);
                yield out -> {
                    out.writeBoolean(status != null);
                    if (status != null) {
                        write(status, out);
                    }
                };
            }
            case LIST -> {
                FileStatus[] all = files.list(path);
                yield out -> {
                    out.writeInt(all.length);
                    for (FileStatus each : all) {
                        write(each, out);
                    }
                };
            }
            case MKDIRS -> truth(files.mkdirs(path, permission(in)));
            case DELETE -> truth(files.delete(path, in.readBoolean()));
            case RENAME -> truth(files.rename(path, in.text()));
            case SET_PERMISSION -> truth(files.setPermission(path, permission(in)));
            case WRITE_TO_DISK -> {
                files.writeToDisk(path);
                yield Body.EMPTY;
            }
            case WOULD_HOLD -> truth(files.wouldHold(path));
            case ADD -> truth(files.add(path, place.pairs(in.readUTF(), in.readLong(), in.readInt()), 0));
            case PAIRS -> {
                String id = RemotePlace.idOf(files.pairs(path));
                yield out -> out.writeUTF(id);
            }
            case VERSION -> {
                FileVersion version = files.version(path);
                yield out -> write(version, out);
            }
        };
    }

    @SuppressWarnings("deprecation") // its other form is for protocol buffers
    static void write(FileStatus status, DataOutput out) throws IOException {
        status.write(out);
    }

    private static Body truth(boolean value) {
        return out -> out.writeBoolean(value);
    }

    private static FsPermission permission(Message in) throws IOException {
        short code = in.readShort();
        return code == NO_PERMISSION ? null : new FsPermission(code);
    }

    static void write(FileVersion version, DataOutput out) throws IOException {
        out.writeBoolean(version != null);
        if (version != null) {
            out.writeLong(version.length());
            out.writeLong(version.modified());
            out.writeUTF(version.identity().toString());
            out.writeLong(version.changed());
        }
    }
}
