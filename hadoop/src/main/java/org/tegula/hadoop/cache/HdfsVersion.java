package org.tegula.hadoop.cache;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.protocol.HdfsLocatedFileStatus;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;

/**
 * Versions of files of HDFS. A file is an inode with blocks, and each change of a block's bytes gives the block a generation
 * stamp that is greater than all before. So the inode, the number of blocks and their greatest stamp change with each change of
 * the file's bytes, also if length and time of modification are set to what they were. HDFS's own checksum of a file would need a
 * call of each block's data node.
 *
 * <p>Hadoop's client may be without the classes of HDFS: they are touched only for files of HDFS.
 */
final class HdfsVersion {
    private static final String FILES = "org.apache.hadoop.hdfs.DistributedFileSystem";
    private static final String STATUS = "org.apache.hadoop.hdfs.protocol.Hdfs";

    private HdfsVersion() {}

    static boolean isOf(FileSystem files) {
        return files.getClass().getName().equals(FILES);
    }

    static boolean isOf(FileStatus status) {
        return status.getClass().getName().startsWith(STATUS);
    }

    static String identity(FileStatus status) {
        return "inode " + ((HdfsFileStatus) status).getFileId();
    }

    /** By one call of the name node. What is read of a file that is still being written is never found again. */
    static FileVersion of(FileSystem files, Path path) throws IOException {
        HdfsLocatedFileStatus status = ((DistributedFileSystem) files)
                .getClient()
                .getLocatedFileInfo(files.makeQualified(path).toUri().getPath(), false);
        if (status == null || status.isDirectory()) {
            throw new FileNotFoundException(path + " is not a file");
        }
        LocatedBlocks blocks = status.getLocatedBlocks();
        if (blocks.isUnderConstruction()) {
            return new FileVersion(status.getLen(), status.getModificationTime(), new Object(), 0);
        }
        long stamp = 0;
        for (LocatedBlock each : blocks.getLocatedBlocks()) {
            stamp = Math.max(stamp, each.getBlock().getGenerationStamp());
        }
        String identity = identity(status) + " of " + blocks.locatedBlockCount() + " blocks up to " + stamp;
        return new FileVersion(status.getLen(), status.getModificationTime(), identity, 0);
    }
}
