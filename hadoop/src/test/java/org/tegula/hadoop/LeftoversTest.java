package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Progressable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tegula.hadoop.engine.Engine;

/** A job whose output is committed has succeeded, whatever becomes of its own files; and as few as can be are left of them. */
@Timeout(120)
class LeftoversTest extends FaultTests {
    private static final int SPILLED = 200_000;
    private static final int RUNS_OF_A_MERGE = 70;
    private static final AtomicInteger COMPARED = new AtomicInteger();
    private static final CountDownLatch JOB_ENDED = new CountDownLatch(1);
    private static final CountDownLatch LATE_RETURNED = new CountDownLatch(1);

    private Path local;
    private long taken;

    /** All map output goes to disk. */
    @BeforeEach
    void takeAllMemory() throws Exception {
        local = folder.resolve("local");
        conf.set(MRConfig.LOCAL_DIR, local + "/1," + local + "/2," + local + "/3");
        conf.setInt(MRJobConfig.IO_SORT_MB, 1);
        taken = Engine.shared(conf).memory().limitBytes();
        assertTrue(Engine.shared(conf).memory().reserve(taken));
    }

    @AfterEach
    void giveMemoryBack() {
        Engine.shared(conf).memory().release(taken);
    }

    private void leavesNoFiles() throws IOException {
        assertEquals(Set.of(), Trees.read(local).keySet());
    }

    private static void succeeds(Job job) throws Exception {
        job.waitForCompletion(false);
        assertEquals(JobStatus.State.SUCCEEDED, job.getJobState(), () -> Engine.shared(job.getConfiguration())
                .job(org.apache.hadoop.mapred.JobID.downgrade(job.getJobID()))
                .status()
                .getFailureInfo());
    }

    @Test
    void spillsOfAnAttemptThatOutlivesItsJobAreDeleted() throws Exception {
        conf.setInt(MRJobConfig.TASK_TIMEOUT, 1500);
        Job job = job();
        job.setMapperClass(ReturnsLate.class);
        job.setCombinerClass(org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer.class);
        try {
            succeeds(job);
            leavesNoFiles();
        } finally {
            JOB_ENDED.countDown();
        }
        assertTrue(LATE_RETURNED.await(60, TimeUnit.SECONDS));
        leavesNoFiles();
    }

    /** The first attempt spills, gives no sign of life until its job has ended, and goes on. */
    static class ReturnsLate extends Mapper<Object, Text, Text, IntWritable> {
        @Override
        public void run(Context context) throws IOException, InterruptedException {
            boolean late = context.getTaskAttemptID().getId() == 0;
            try {
                emit(context);
                if (late) {
                    awaitJobEnd();
                    emit(context);
                }
            } finally {
                if (late) {
                    LATE_RETURNED.countDown();
                }
            }
        }

        private static void emit(Context context) throws IOException, InterruptedException {
            for (int i = 0; i < SPILLED; i++) {
                context.write(new Text("key" + i), new IntWritable(i));
            }
        }

        private static void awaitJobEnd() {
            while (JOB_ENDED.getCount() > 0) {
                Thread.onSpinWait();
            }
        }
    }

    /** There are more runs than are read at once, and the comparator fails in the merge of those that are left. */
    @Test
    void runsOfAReduceThatFailedAreDeleted() throws Exception {
        Path in = Files.createDirectories(folder.resolve("many"));
        for (int i = 0; i < RUNS_OF_A_MERGE; i++) {
            Files.writeString(in.resolve("in" + i), "word" + i + "\n");
        }
        COMPARED.set(0);
        Job job = Jobs.wordCount(conf, in, out);
        job.setSortComparatorClass(FailsOnce.class);
        succeeds(job);
        assertEquals(
                1, job.getCounters().findCounter(JobCounter.NUM_FAILED_REDUCES).getValue());
        assertEquals(
                RUNS_OF_A_MERGE, Files.readAllLines(out.resolve("part-r-00000")).size());
        leavesNoFiles();
    }

    static class FailsOnce extends Text.Comparator {
        @Override
        public int compare(byte[] b1, int s1, int l1, byte[] b2, int s2, int l2) {
            if (Thread.currentThread().getName().contains("_r_") && COMPARED.incrementAndGet() == RUNS_OF_A_MERGE) {
                throw new IllegalStateException("spoiled");
            }
            return super.compare(b1, s1, l1, b2, s2, l2);
        }
    }

    @Test
    void stagedFilesThatCannotBeDeletedFailNoJob() throws Exception {
        conf.setClass("fs.file.impl", Stubborn.class, FileSystem.class);
        conf.setBoolean("fs.file.impl.disable.cache", true);
        succeeds(job());
        leavesNoFiles();
    }

    static class Stubborn extends LocalFileSystem {
        @Override
        public boolean delete(org.apache.hadoop.fs.Path path, boolean recursive) throws IOException {
            if (path.getName().startsWith("job_") && path.toString().contains("staging")) {
                throw new IOException("spoiled");
            }
            return super.delete(path, recursive);
        }
    }

    @Test
    void pairsThatCannotBeKeptFailNoJob() throws Exception {
        conf.setClass("fs.file.impl", Fading.class, FileSystem.class);
        conf.setBoolean("fs.file.impl.disable.cache", true);
        Job job = job();
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        Fading.fades = true;
        try {
            succeeds(job);
            assertTrue(Fading.isGone, "somebody has looked at the output after its commit");
        } finally {
            Fading.fades = false;
        }
        assertTrue(Files.exists(out.resolve("part-r-00000")));
    }

    /** Does not answer any more once the job is committed. */
    static class Fading extends LocalFileSystem {
        private static volatile boolean fades;
        private static volatile boolean isGone;
        private static volatile boolean isCommitted;

        @Override
        public FileSystem getRaw() {
            if (fades && isCommitted) {
                isGone = true;
                throw new IllegalStateException("spoiled");
            }
            return super.getRaw();
        }

        @Override
        public FSDataOutputStream create(
                org.apache.hadoop.fs.Path path,
                FsPermission permission,
                boolean overwrite,
                int bufferBytes,
                short replication,
                long blockBytes,
                Progressable progress)
                throws IOException {
            isCommitted |= path.getName().equals("_SUCCESS");
            return super.create(path, permission, overwrite, bufferBytes, replication, blockBytes, progress);
        }
    }

    /** A folder that is not empty is where the link was, which the job wants to delete. */
    @Test
    void aLinkThatAProgramHasReplacedFailsNoJob() throws Exception {
        Path cached = Files.writeString(folder.resolve("cached.txt"), "x");
        Path link = Path.of(ReplacesLink.NAME);
        Job job = job();
        job.setMapperClass(ReplacesLink.class);
        job.addCacheFile(URI.create(cached.toUri() + "#" + link));
        try {
            succeeds(job);
        } finally {
            Files.deleteIfExists(link.resolve("in it"));
            Files.deleteIfExists(link);
        }
        leavesNoFiles();
    }

    static class ReplacesLink extends Jobs.Words {
        private static final String NAME = "replaced-by-leftovers-test";

        @Override
        protected void setup(Context context) throws IOException {
            Path link = Path.of(NAME);
            Files.delete(link);
            Files.createFile(Files.createDirectory(link).resolve("in it"));
        }
    }

    @Test
    void foldersOfTheDistributedCacheAreDeletedInAllLocalFolders() throws Exception {
        Job job = job();
        for (int i = 0; i < 4; i++) {
            Path cached = Files.writeString(folder.resolve("cached" + i), "x");
            job.addCacheFile(URI.create(cached.toUri() + "#leftovers-test-" + i));
        }
        succeeds(job);
        for (int i = 1; i <= 3; i++) {
            String[] left = local.resolve(i + "/tegula-cache").toFile().list();
            assertEquals(0, left == null ? 0 : left.length, "in folder " + i);
        }
        leavesNoFiles();
    }
}
