package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileRecordReader;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.cache.BlockCursor;
import org.tegula.hadoop.cache.CachedSplit;
import org.tegula.hadoop.cache.InputPart;
import org.tegula.hadoop.cache.PairBlock;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.SequencePairsWriter;
import org.tegula.hadoop.files.CachedLocalFileSystem;
import org.tegula.hadoop.files.HeldFileSystem;
import org.tegula.hadoop.live.KnownSize;

/**
 * Threads write, replace, rename and delete files, some of which are in memory alone, through Hadoop and past it; others read
 * them as pairs, as a task does, and as bytes. All versions of all files have the same length, and each pair names its version.
 */
@Timeout(300)
class CacheModelTest {
    private static final int NAMES = 3;
    private static final int PAIRS = 30;
    private static final int VALUE_BYTES = 4_000;
    private static final int WRITERS = 3;
    private static final int READERS = 3;
    private static final long MODEL_MILLIS = 5_000;
    private static final int ABSENT = -1;
    /** Nothing that counts was seen: there are no pairs of the file, or it went while it was looked at. */
    private static final int NOTHING = -2;

    /** A version of a file at a name: its begin and its end lie between two times each. */
    private static final class Stay {
        private final int version;
        private final long beganAfter;
        private volatile long beganBefore = Long.MAX_VALUE;
        private volatile long endedAfter = Long.MAX_VALUE;
        private volatile long endedBefore = Long.MAX_VALUE;

        Stay(int version, long beganAfter) {
            this.version = version;
            this.beganAfter = beganAfter;
        }
    }

    /** The model of a name. A thread that changes it holds the lock. */
    private final class Name {
        private final Path path;
        private final boolean isTemporary;
        private final ReentrantLock lock = new ReentrantLock();
        private final List<Stay> stays = new ArrayList<>();

        Name(Path path, boolean isTemporary) {
            this.path = path;
            this.isTemporary = isTemporary;
        }

        synchronized Stay present() {
            Stay last = stays.isEmpty() ? null : stays.get(stays.size() - 1);
            return last != null && last.endedAfter == Long.MAX_VALUE ? last : null;
        }

        /** Notes, before a change, that the present version may go from now on; returns that version, or null. */
        synchronized Stay ending() {
            Stay last = present();
            if (last != null) {
                last.endedAfter = System.nanoTime();
            }
            return last;
        }

        /** Says, before something is done, that a version may be there from now on. */
        synchronized Stay begin(int version) {
            Stay stay = new Stay(version, System.nanoTime());
            stays.add(stay);
            return stay;
        }

        /** Fails unless a version, or none, may have been seen between two times. */
        synchronized void check(int version, long from, long until, String way) {
            String what = path.getFileName() + " by " + way + ": " + version + " was seen";
            if (version == ABSENT) {
                for (Stay stay : stays) {
                    assertTrue(stay.beganBefore > from || stay.endedAfter < until, what + ", of " + stay.version);
                }
                return;
            }
            for (Stay stay : stays) {
                if (stay.version == version && stay.beganAfter <= until && stay.endedBefore >= from) {
                    return;
                }
            }
            Stay present = present();
            throw new AssertionError(what + ", and now there is " + (present == null ? "none" : present.version));
        }
    }

    @TempDir
    Path folder;

    private final AtomicInteger versions = new AtomicInteger();
    private final AtomicInteger scratch = new AtomicInteger();
    private final List<Name> names = new ArrayList<>();
    private JobConf conf;
    private CachedLocalFileSystem files;
    private PairCache cache;

    @BeforeEach
    void make() throws IOException {
        conf = new JobConf(Engines.TEGULA.conf(folder.resolve("tmp")));
        conf.setClass("fs.file.impl", CachedLocalFileSystem.class, FileSystem.class);
        conf.setBoolean("fs.file.impl.disable.cache", true);
        files = (CachedLocalFileSystem) FileSystem.newInstance(FileSystem.getDefaultUri(conf), conf);
        cache = PairCache.shared(conf);
        cache.clear();
        Files.createDirectory(folder.resolve("plain"));
        assertTrue(files.hold(hadoop(folder.resolve("temp"))));
        assertTrue(files.mkdirs(hadoop(folder.resolve("temp"))));
        for (int i = 0; i < NAMES; i++) {
            names.add(new Name(folder.resolve("plain/plain" + i), false));
            names.add(new Name(folder.resolve("temp/temp" + i), true));
        }
    }

    private static org.apache.hadoop.fs.Path hadoop(Path path) {
        return new org.apache.hadoop.fs.Path(path.toUri().getPath());
    }

    private static BytesWritable value(int version) {
        byte[] bytes = new byte[VALUE_BYTES];
        ByteBuffer.wrap(bytes).putInt(version);
        return new BytesWritable(bytes);
    }

    private byte[] bytes(int version) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (FSDataOutputStream out = new FSDataOutputStream(bytes, null);
                SequenceFile.Writer writer = SequenceFile.createWriter(
                        conf,
                        SequenceFile.Writer.stream(out),
                        SequenceFile.Writer.keyClass(IntWritable.class),
                        SequenceFile.Writer.valueClass(BytesWritable.class),
                        SequenceFile.Writer.compression(SequenceFile.CompressionType.NONE))) {
            for (int i = 0; i < PAIRS; i++) {
                writer.append(new IntWritable(i), value(version));
            }
        }
        return bytes.toByteArray();
    }

    private void writePairs(Path path, int version, boolean promised) throws IOException {
        SequencePairsWriter writer = files.createPairs(
                hadoop(path),
                new SequencePairsWriter.Types(
                        IntWritable.class, BytesWritable.class, promised, new KnownSize(), 0, conf));
        assertNotNull(writer, path + " is not kept as pairs");
        for (int i = 0; i < PAIRS; i++) {
            writer.add(new IntWritable(i), value(version));
        }
        writer.close();
    }

    private void writeBytes(Path path, int version) throws IOException {
        try (FSDataOutputStream out = files.getRaw().create(hadoop(path), true)) {
            out.write(bytes(version));
        }
    }

    /** Puts a new version in the place of whatever is there. */
    private void put(Name name, int how) throws IOException {
        int version = versions.incrementAndGet();
        Path next = name.path.resolveSibling("next" + scratch.incrementAndGet());
        if (name.isTemporary && how < 2) {
            writePairs(next, version, how == 0);
        } else if (name.isTemporary || how == 0) {
            writeBytes(next, version);
        } else {
            Files.write(next, bytes(version));
        }
        Stay old = name.ending();
        Stay stay = name.begin(version);
        if (!name.isTemporary && how > 0) {
            Files.move(next, name.path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            assertTrue(files.exists(hadoop(name.path))); // an unseen change leaves a file in memory unchanged
        } else {
            assertTrue(files.rename(hadoop(next), hadoop(name.path)), "a file is not renamed to " + name.path);
        }
        stay.beganBefore = System.nanoTime();
        end(old);
    }

    /** Notes that a version is gone. */
    private static void end(Stay old) {
        if (old != null) {
            old.endedBefore = System.nanoTime();
        }
    }

    private void delete(Name name, boolean behind) throws IOException {
        Stay old = name.ending();
        if (behind ? Files.deleteIfExists(name.path) : files.delete(hadoop(name.path), false)) {
            end(old);
        } else if (old != null) {
            old.endedAfter = Long.MAX_VALUE;
        }
    }

    private void rename(Name from, Name to) throws IOException {
        Stay source = from.ending();
        if (source == null) {
            return;
        }
        Stay old = to.ending();
        Stay stay = to.begin(source.version);
        assertTrue(files.rename(hadoop(from.path), hadoop(to.path)), from.path + " is not renamed to " + to.path);
        stay.beganBefore = System.nanoTime();
        end(old);
        end(source);
    }

    /** One random change, of names that nobody else changes meanwhile. */
    private void change(Random random) throws IOException {
        Name one = names.get(random.nextInt(names.size()));
        Name other = names.get(random.nextInt(names.size()));
        Name first = names.indexOf(one) < names.indexOf(other) ? one : other;
        first.lock.lock();
        (first == one ? other : one).lock.lock();
        try {
            switch (random.nextInt(8)) {
                case 0 -> delete(one, false);
                case 1 -> delete(one, true);
                case 2, 3 -> {
                    if (one != other) {
                        rename(one, other);
                    }
                }
                case 4 -> ((HeldFileSystem) files.getRaw()).writeToDisk(hadoop(one.path));
                default -> put(one, random.nextInt(3));
            }
        } finally {
            (first == one ? other : one).lock.unlock();
            first.lock.unlock();
        }
    }

    private enum Way {
        TASK,
        PAIRS_ALONE,
        BYTES
    }

    /** The version that is found under a name, all of it. */
    private int read(Path path, Way way) throws Exception {
        try {
            return switch (way) {
                case TASK -> readAsTask(path);
                case PAIRS_ALONE -> {
                    try (RecordReader<Writable, Writable> reader = files.getCacheRecordReader(hadoop(path))) {
                        yield reader == null ? NOTHING : drain(reader, null);
                    }
                }
                case BYTES -> {
                    try (SequenceFileRecordReader<Writable, Writable> reader = open(path, conf)) {
                        yield drain(reader, null);
                    }
                }
            };
        } catch (FileNotFoundException e) {
            return ABSENT;
        }
    }

    private SequenceFileRecordReader<Writable, Writable> open(Path path, JobConf reading) throws Exception {
        SequenceFileRecordReader<Writable, Writable> reader = new SequenceFileRecordReader<>();
        reader.initialize(split(path), new TaskAttemptContextImpl(reading, new TaskAttemptID()));
        return reader;
    }

    /** The same for all versions. */
    private static FileSplit split(Path path) {
        return new FileSplit(hadoop(path), 0, 1L << 30, null);
    }

    private int readAsTask(Path path) throws Exception {
        CachedSplit cached = CachedSplit.of(
                cache, InputPart.of(split(path), SequenceFileInputFormat.class), conf, 0, false, new KnownSize());
        if (cached == null) {
            return read(path, Way.BYTES);
        }
        PairBlock block = cached.block();
        if (block == null) {
            try (SequenceFileRecordReader<Writable, Writable> reader = open(path, cached.conf())) {
                return drain(reader, cached);
            } finally {
                cached.abandon();
            }
        }
        BlockCursor cursor = block.open(conf);
        Pairs pairs = new Pairs();
        while (cursor.next()) {
            pairs.add(cursor.key(new IntWritable()), cursor.value(new BytesWritable()));
        }
        return pairs.version();
    }

    private static int drain(RecordReader<Writable, Writable> reader, CachedSplit copy) throws Exception {
        Pairs pairs = new Pairs();
        while (reader.nextKeyValue()) {
            pairs.add(reader.getCurrentKey(), reader.getCurrentValue());
            if (copy != null) {
                copy.add(reader.getCurrentKey(), reader.getCurrentValue());
            }
        }
        if (copy != null) {
            copy.finish();
        }
        return pairs.version();
    }

    /** Pairs that must all be of one version. */
    private static final class Pairs {
        private int count;
        private int version;

        void add(Writable key, Writable value) {
            int found = ByteBuffer.wrap(((BytesWritable) value).getBytes()).getInt();
            version = count == 0 ? found : version;
            assertEquals(version, found, "versions are mixed");
            assertEquals(count++, ((IntWritable) key).get());
        }

        int version() {
            assertEquals(PAIRS, count, "pairs of version " + version + " are missing");
            return version;
        }
    }

    private interface Loop {
        void once(Random random) throws Exception;
    }

    /** Runs some threads for a while; gives back how often the readers have read. */
    private long run(Loop writing, Loop reading) throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        AtomicInteger reads = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(WRITERS + READERS);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < WRITERS + READERS; i++) {
            Random random = new Random(i);
            boolean writes = i < WRITERS;
            all.add(threads.submit(() -> {
                try {
                    while (!done.get()) {
                        (writes ? writing : reading).once(random);
                        if (writes) {
                            Thread.sleep(random.nextInt(8));
                        } else {
                            reads.incrementAndGet();
                        }
                    }
                } finally {
                    done.set(true);
                }
                return null;
            }));
        }
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(MODEL_MILLIS);
        while (!done.get() && System.nanoTime() < end) {
            Thread.sleep(20);
        }
        done.set(true);
        threads.shutdown();
        assertTrue(threads.awaitTermination(60, TimeUnit.SECONDS));
        for (Future<?> each : all) {
            each.get();
        }
        return reads.get();
    }

    private void deleteAll() throws IOException {
        files.delete(hadoop(folder.resolve("temp")), true);
        files.delete(hadoop(folder.resolve("plain")), true);
        cache.clear();
        assertEquals(0, HeldFileSystem.sizes().size());
    }

    /** Names are changed one change at a time, and every reading fits a version that was there between its begin and its end. */
    @Test
    void readersSeeWhatIsThere() throws Exception {
        long room = cache.usedBytes();
        AtomicInteger found = new AtomicInteger();
        long reads = run(this::change, random -> {
            Name name = names.get(random.nextInt(names.size()));
            Way way = Way.values()[random.nextInt(Way.values().length)];
            long from = System.nanoTime();
            int version = read(name.path, way);
            if (version != NOTHING) {
                name.check(version, from, System.nanoTime(), way.toString());
            }
            if (version >= 0 && way == Way.PAIRS_ALONE) {
                found.incrementAndGet();
            }
        });
        assertTrue(reads > 100 && found.get() > 10, reads + " readings, of which " + found + " of pairs");
        for (Name name : names) {
            for (Way way : Way.values()) {
                long now = System.nanoTime();
                int version = read(name.path, way);
                if (version != NOTHING) {
                    name.check(version, now, now, way + " at the end");
                }
            }
        }
        deleteAll();
        assertEquals(room, cache.usedBytes());
    }

    /** All threads change names at once: the result is open, but each file is whole, and no room is lost. */
    @Test
    void changesAtTheSameTimeLoseNothing() throws Exception {
        long room = cache.usedBytes();
        run(
                random -> {
                    Name name = names.get(random.nextInt(names.size()));
                    org.apache.hadoop.fs.Path path = hadoop(name.path);
                    try {
                        switch (random.nextInt(6)) {
                            case 0 -> files.delete(path, false);
                            case 1 -> Files.deleteIfExists(name.path);
                            case 2 -> files.rename(path, hadoop(names.get(random.nextInt(names.size())).path));
                            case 3 -> ((HeldFileSystem) files.getRaw()).writeToDisk(path);
                            default -> {
                                Path next = name.path.resolveSibling("next" + scratch.incrementAndGet());
                                if (name.isTemporary) {
                                    writePairs(next, versions.incrementAndGet(), random.nextBoolean());
                                } else {
                                    writeBytes(next, versions.incrementAndGet());
                                }
                                files.rename(hadoop(next), path);
                            }
                        }
                    } catch (IOException e) {
                        assertNotNull(e.getMessage());
                    }
                },
                random -> {
                    Name name = names.get(random.nextInt(names.size()));
                    int version = read(name.path, Way.values()[random.nextInt(Way.values().length)]);
                    assertTrue(version <= versions.get());
                });
        deleteAll();
        assertEquals(room, cache.usedBytes());
    }
}
