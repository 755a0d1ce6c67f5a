package org.tegula.hadoop.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.BlockStoragePolicySpi;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.XAttrSetFlag;
import org.apache.hadoop.fs.permission.AclEntry;
import org.apache.hadoop.fs.permission.AclStatus;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The calls that files in memory do not answer: they are passed on to the file system below, which is first given all of the
 * files that are meant.
 */
abstract class PassingFileSystem extends FilterFileSystem {
    /** Puts what is in memory at and below a path into the file system below; returns the path. */
    abstract Path below(Path path) throws IOException;

    private Path belowUnchecked(Path path) {
        try {
            return below(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) throws IOException {
        return super.append(below(path), bufferSize, progress);
    }

    @Override
    public FSDataOutputStreamBuilder<?, ?> appendFile(Path path) {
        return super.appendFile(belowUnchecked(path));
    }

    @Override
    public void concat(Path target, Path[] sources) throws IOException {
        for (Path each : sources) {
            below(each);
        }
        super.concat(below(target), sources);
    }

    @Override
    public boolean truncate(Path path, long length) throws IOException {
        return super.truncate(below(path), length);
    }

    @Override
    @SuppressWarnings("deprecation") // the call by which FileContext renames
    protected void rename(Path from, Path to, Options.Rename... options) throws IOException {
        super.rename(below(from), below(to), options);
    }

    @Override
    public boolean setReplication(Path path, short replication) throws IOException {
        return super.setReplication(below(path), replication);
    }

    @Override
    public void copyFromLocalFile(boolean moves, Path from, Path to) throws IOException {
        super.copyFromLocalFile(moves, from, below(to));
    }

    @Override
    public void copyFromLocalFile(boolean moves, boolean overwrites, Path[] from, Path to) throws IOException {
        super.copyFromLocalFile(moves, overwrites, from, below(to));
    }

    @Override
    public void copyFromLocalFile(boolean moves, boolean overwrites, Path from, Path to) throws IOException {
        super.copyFromLocalFile(moves, overwrites, from, below(to));
    }

    @Override
    public void copyToLocalFile(boolean moves, Path from, Path to) throws IOException {
        super.copyToLocalFile(moves, below(from), to);
    }

    @Override
    public Path startLocalOutput(Path output, Path local) throws IOException {
        return super.startLocalOutput(below(output), local);
    }

    @Override
    public Path resolvePath(Path path) throws IOException {
        return super.resolvePath(below(path));
    }

    @Override
    public void access(Path path, FsAction mode) throws IOException {
        super.access(below(path), mode);
    }

    @Override
    public FileChecksum getFileChecksum(Path path) throws IOException {
        return super.getFileChecksum(below(path));
    }

    @Override
    public FileChecksum getFileChecksum(Path path, long length) throws IOException {
        return super.getFileChecksum(below(path), length);
    }

    @Override
    public void setOwner(Path path, String user, String group) throws IOException {
        super.setOwner(below(path), user, group);
    }

    @Override
    public void setTimes(Path path, long modified, long accessed) throws IOException {
        super.setTimes(below(path), modified, accessed);
    }

    @Override
    protected FSDataOutputStream primitiveCreate(
            Path path,
            FsPermission permission,
            EnumSet<CreateFlag> flags,
            int bufferSize,
            short replication,
            long blockSize,
            Progressable progress,
            Options.ChecksumOpt checksum)
            throws IOException {
        return super.primitiveCreate(
                below(path), permission, flags, bufferSize, replication, blockSize, progress, checksum);
    }

    @Override
    protected boolean primitiveMkdir(Path path, FsPermission permission) throws IOException {
        return super.primitiveMkdir(below(path), permission);
    }

    @Override
    public Path createSnapshot(Path path, String name) throws IOException {
        return super.createSnapshot(below(path), name);
    }

    @Override
    public void modifyAclEntries(Path path, List<AclEntry> entries) throws IOException {
        super.modifyAclEntries(below(path), entries);
    }

    @Override
    public void removeAclEntries(Path path, List<AclEntry> entries) throws IOException {
        super.removeAclEntries(below(path), entries);
    }

    @Override
    public void removeDefaultAcl(Path path) throws IOException {
        super.removeDefaultAcl(below(path));
    }

    @Override
    public void removeAcl(Path path) throws IOException {
        super.removeAcl(below(path));
    }

    @Override
    public void setAcl(Path path, List<AclEntry> entries) throws IOException {
        super.setAcl(below(path), entries);
    }

    @Override
    public AclStatus getAclStatus(Path path) throws IOException {
        return super.getAclStatus(below(path));
    }

    @Override
    public void setXAttr(Path path, String name, byte[] value) throws IOException {
        super.setXAttr(below(path), name, value);
    }

    @Override
    public void setXAttr(Path path, String name, byte[] value, EnumSet<XAttrSetFlag> flags) throws IOException {
        super.setXAttr(below(path), name, value, flags);
    }

    @Override
    public byte[] getXAttr(Path path, String name) throws IOException {
        return super.getXAttr(below(path), name);
    }

    @Override
    public Map<String, byte[]> getXAttrs(Path path) throws IOException {
        return super.getXAttrs(below(path));
    }

    @Override
    public Map<String, byte[]> getXAttrs(Path path, List<String> names) throws IOException {
        return super.getXAttrs(below(path), names);
    }

    @Override
    public List<String> listXAttrs(Path path) throws IOException {
        return super.listXAttrs(below(path));
    }

    @Override
    public void removeXAttr(Path path, String name) throws IOException {
        super.removeXAttr(below(path), name);
    }

    @Override
    public void satisfyStoragePolicy(Path path) throws IOException {
        super.satisfyStoragePolicy(below(path));
    }

    @Override
    public void setStoragePolicy(Path path, String policy) throws IOException {
        super.setStoragePolicy(below(path), policy);
    }

    @Override
    public void unsetStoragePolicy(Path path) throws IOException {
        super.unsetStoragePolicy(below(path));
    }

    @Override
    public BlockStoragePolicySpi getStoragePolicy(Path path) throws IOException {
        return super.getStoragePolicy(below(path));
    }

    @Override
    public Path getLinkTarget(Path path) throws IOException {
        return super.getLinkTarget(below(path));
    }
}
