package org.tegula.hadoop.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Options.HandleOpt;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathHandle;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file that is replaced by another of its length within one tick of the clock is another version, where anything says so. */
class FileVersionTest {
    @TempDir
    java.nio.file.Path folder;

    private Path path;
    private String says = "one";

    @BeforeEach
    void write() throws IOException {
        path = new Path(Files.writeString(folder.resolve("file"), "abc").toUri());
    }

    /** The disk, as a file system that is no local one. */
    private class Other extends FilterFileSystem {
        Other() throws IOException {
            super(new RawLocalFileSystem());
            initialize(java.net.URI.create("file:///"), new Configuration(false));
        }

        @Override
        protected PathHandle createPathHandle(FileStatus status, HandleOpt... options) {
            throw new UnsupportedOperationException("there are no handles");
        }
    }

    private class WithHandles extends Other {
        WithHandles() throws IOException {}

        @Override
        protected PathHandle createPathHandle(FileStatus status, HandleOpt... options) {
            return new PathHandle() {
                @Override
                public ByteBuffer bytes() {
                    return ByteBuffer.wrap(says.getBytes(StandardCharsets.UTF_8));
                }

                @Override
                public boolean equals(Object other) {
                    return other == this;
                }

                @Override
                public int hashCode() {
                    return 1;
                }
            };
        }
    }

    private class WithTags extends Other {
        WithTags() throws IOException {}

        @Override
        public FileStatus getFileStatus(Path file) throws IOException {
            return new Tagged(super.getFileStatus(file), says);
        }
    }

    private static final class Tagged extends FileStatus implements EtagSource {
        private static final long serialVersionUID = 1;
        private final String tag;

        Tagged(FileStatus status, String tag) throws IOException {
            super(status);
            this.tag = tag;
        }

        @Override
        public String getEtag() {
            return tag;
        }
    }

    private void check(FileSystem files) throws IOException {
        FileVersion first = FileVersion.of(files, path);
        assertEquals(first, FileVersion.of(files, path));
        says = "two";
        FileVersion second = FileVersion.of(files, path);
        assertNotEquals(first, second);
        assertTrue(!first.sameContents(second));
    }

    @Test
    void byItsHandle() throws Exception {
        check(new WithHandles());
    }

    @Test
    void byItsTag() throws Exception {
        check(new WithTags());
    }

    @Test
    void byLengthAndTimeWhereNothingElseIsSaid() throws Exception {
        assertEquals("", FileVersion.of(new Other(), path).identity());
        assertEquals(3, FileVersion.of(new Other(), path).length());
    }
}
