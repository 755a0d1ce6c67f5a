package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.Job;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.api.CacheCounter;

/**
 * While files are replaced, renamed and deleted, through Hadoop and past it, jobs of several threads read them. A version of a
 * file repeats one word, and all have one length; a job sees one version as a whole, and none that was gone before the job
 * began.
 */
@Timeout(300)
class CacheRacesTest {
    private static final int FILES = 3;
    private static final int LINES = 400;
    private static final int JOBS = 12;

    @TempDir
    Path folder;

    /** The newest version of each file, noted once it is in its place; and the one that is on its way there. */
    private final AtomicIntegerArray inPlace = new AtomicIntegerArray(FILES);

    private final AtomicIntegerArray onItsWay = new AtomicIntegerArray(FILES);

    @Test
    void aJobSeesOneVersionAndNoneThatWasGone() throws Exception {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("tmp"));
        FileSystem hadoop = FileSystem.getLocal(conf);
        for (int file = 0; file < FILES; file++) {
            replace(hadoop, file, 0);
        }
        AtomicBoolean done = new AtomicBoolean();
        ExecutorService threads = Executors.newFixedThreadPool(FILES + 2);
        List<Future<?>> writers = new ArrayList<>();
        for (int file = 0; file < FILES; file++) {
            int number = file;
            writers.add(threads.submit(() -> {
                Random random = new Random(number);
                while (!done.get()) {
                    replace(hadoop, number, random.nextInt(3));
                    Thread.sleep(random.nextInt(number == 0 ? 2000 : 150));
                }
                return null;
            }));
        }
        List<Future<Long>> readers = new ArrayList<>();
        for (int reader = 0; reader < 2; reader++) {
            int number = reader;
            readers.add(threads.submit(() -> read(conf, number)));
        }
        long found = 0;
        try {
            for (Future<Long> each : readers) {
                found += each.get();
            }
        } finally {
            done.set(true);
            threads.shutdown();
            assertTrue(threads.awaitTermination(60, TimeUnit.SECONDS));
        }
        for (Future<?> each : writers) {
            each.get();
        }
        assertTrue(found > 0, "nothing was ever found in the cache");
    }

    /** Puts the next version of a file in its place, atomically for readers. */
    private void replace(FileSystem hadoop, int file, int how) throws IOException {
        int version = onItsWay.incrementAndGet(file);
        Path next = folder.resolve("next" + file);
        Path place = path(file);
        Files.writeString(next, word(version).concat("\n").repeat(LINES));
        switch (how) {
            case 0 -> Files.move(next, place, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            case 1 -> {
                Path old = folder.resolve("old" + file);
                Files.createLink(old, place);
                Files.move(next, place, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
                hadoop.delete(new org.apache.hadoop.fs.Path(old.toUri()), false);
            }
            default -> {
                Path link = folder.resolve("link" + file);
                hadoop.rename(new org.apache.hadoop.fs.Path(next.toUri()), new org.apache.hadoop.fs.Path(link.toUri()));
                Files.move(link, place, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            }
        }
        inPlace.set(file, version);
    }

    private Path path(int file) {
        return folder.resolve("file" + file);
    }

    private static String word(int version) {
        return String.format("v%06d", version);
    }

    /** Runs jobs, each over one of the files; gives back how many splits were found in the cache. */
    private long read(Configuration conf, int reader) throws Exception {
        long found = 0;
        for (int number = 0; number < JOBS; number++) {
            int file = number % FILES;
            Path out = folder.resolve("out" + reader + "-" + number);
            int oldest = inPlace.get(file);
            Job job = Jobs.wordCount(conf, path(file), out);
            assertTrue(job.waitForCompletion(false), () -> "a job failed: " + job);
            int newest = onItsWay.get(file);
            String[] seen = Files.readString(out.resolve("part-r-00000")).trim().split("\\s+");
            assertEquals(2, seen.length, () -> "a job saw " + String.join(" ", seen));
            assertEquals(LINES, Integer.parseInt(seen[1]));
            int version = Integer.parseInt(seen[0].substring(1));
            assertTrue(
                    oldest <= version && version <= newest,
                    version + " was seen, of versions " + oldest + " to " + newest);
            found += job.getCounters().findCounter(CacheCounter.SPLITS_FOUND).getValue();
        }
        return found;
    }
}
