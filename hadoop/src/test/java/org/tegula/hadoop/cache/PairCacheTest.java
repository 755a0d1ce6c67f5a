package org.tegula.hadoop.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.tegula.hadoop.live.KnownSize;
import org.tegula.hadoop.memory.Room;

/** The cache stays within its budget, and returns only valid pairs. */
class PairCacheTest {
    private static final FileVersion VERSION = new FileVersion(10, 20, "file", 30);
    private static final ReadSettings NO_SETTINGS = new ReadSettings(Map.of(), Map.of());

    private final Configuration conf = new Configuration(false);

    private static BlockKey key(String name) {
        return new BlockKey("user", name, 0, 10, "format");
    }

    private static PairBlock block(Room cache, int pairs) {
        BlockWriter writer = BlockWriter.ofOutput(cache, false, new KnownSize());
        Text key = new Text();
        for (int i = 0; i < pairs; i++) {
            key.set("key" + i);
            writer.add(key, new IntWritable(i));
        }
        return writer.finish();
    }

    @Test
    void givesBackWhatItWasGiven() throws Exception {
        PairCache cache = new PairCache(1 << 20);
        cache.put(key("a"), block(cache, 20_000), VERSION, NO_SETTINGS, 0);
        PairBlock found = cache.find(key("a"), VERSION, conf);
        BlockCursor cursor = found.open(conf);
        Text key = new Text();
        for (int i = 0; i < 20_000; i++) {
            assertTrue(cursor.next());
            assertEquals("key" + i, cursor.key(key).toString());
            assertEquals(new IntWritable(i), cursor.value(null));
        }
        assertTrue(!cursor.next());
        cache.clear();
        assertEquals(0, cache.usedBytes());
    }

    @Test
    void dropsWhatWasNotUsedForLongest() {
        PairCache cache = new PairCache(7 << 10);
        for (String name : new String[] {"a", "b", "c"}) {
            cache.put(key(name), block(cache, 100), VERSION, NO_SETTINGS, 0);
        }
        assertNotNull(cache.find(key("a"), VERSION, conf));
        cache.put(key("d"), block(cache, 400), VERSION, NO_SETTINGS, 0);
        assertNull(cache.find(key("b"), VERSION, conf));
        assertNull(cache.find(key("c"), VERSION, conf));
        assertNotNull(cache.find(key("d"), VERSION, conf));
        assertTrue(cache.usedBytes() <= 7 << 10);
    }

    /** Reads a block as a task does: looks for it, and keeps the decoded pairs if it is not there. */
    private boolean isFound(PairCache cache, String name) {
        if (cache.find(key(name), VERSION, conf) != null) {
            return true;
        }
        PairBlock read = block(cache.roomFor(key(name)), 100);
        if (read != null) {
            cache.put(key(name), read, VERSION, NO_SETTINGS, 0);
        }
        return false;
    }

    private int scan(PairCache cache, int blocks) {
        int found = 0;
        for (int number = 0; number < blocks; number++) {
            found += isFound(cache, "scanned" + number) ? 1 : 0;
        }
        return found;
    }

    /** Room for ten blocks, and a scan of twelve. */
    @Test
    void aScanOfMoreThanTheCacheLeavesWhatIsUsedInEachRound() {
        PairCache cache = new PairCache(10 * blockBytes());
        isFound(cache, "hot");
        assertTrue(isFound(cache, "hot"));
        scan(cache, 12);
        assertTrue(isFound(cache, "hot"));
        assertTrue(cache.usedBytes() <= cache.limitBytes());
    }

    /** It was read only once before the first scan: so it is read once more, and then no more. */
    @Test
    void aScanThatIsRepeatedFindsSomeOfItselfAndLeavesWhatIsUsedBetween() {
        PairCache cache = new PairCache(10 * blockBytes());
        int found = 0;
        for (int round = 0; round < 6; round++) {
            boolean isHot = isFound(cache, "hot");
            assertTrue(isHot || round < 2, "round " + round);
            found = scan(cache, 12);
        }
        assertTrue(found >= 5, found + " of 12 found");
    }

    @Test
    void whatIsNotUsedAnyMoreGivesWay() {
        PairCache cache = new PairCache(10 * blockBytes());
        for (int round = 0; round < 3; round++) {
            scan(cache, 9);
        }
        for (int number = 0; number < 8; number++) {
            isFound(cache, "new" + number);
        }
        for (int number = 0; number < 8; number++) {
            isFound(cache, "new" + number);
        }
        int found = 0;
        for (int number = 0; number < 8; number++) {
            found += isFound(cache, "new" + number) ? 1 : 0;
        }
        assertTrue(found >= 6, found + " of 8 found");
    }

    private static long blockBytes() {
        PairCache cache = new PairCache(1 << 20);
        PairBlock block = block(cache, 100);
        long bytes = cache.usedBytes();
        block.release();
        return bytes;
    }

    @Test
    void keepsNoBlockThatIsLargerThanAll() {
        PairCache cache = new PairCache(7 << 10);
        assertNull(block(cache, 10_000));
        assertEquals(0, cache.usedBytes());
    }

    @Test
    void dropsWhatIsOfAnotherVersion() {
        PairCache cache = new PairCache(1 << 20);
        cache.put(key("a"), block(cache, 3), VERSION, NO_SETTINGS, 0);
        assertNull(cache.find(key("a"), new FileVersion(10, 20, "file", 31), conf));
        assertEquals(0, cache.usedBytes());
    }

    @Test
    void givesNothingUnderOtherSettings() {
        PairCache cache = new PairCache(1 << 20);
        conf.set("delimiter", "x");
        cache.put(
                key("a"),
                block(cache, 3),
                VERSION,
                new ReadSettings(Map.of("delimiter", "x"), Map.of("group.", Map.of("one", "1"))),
                0);
        assertNull(cache.find(key("a"), VERSION, conf));
        conf.set("group.one", "1");
        assertNotNull(cache.find(key("a"), VERSION, conf));
        conf.set("delimiter", "y");
        assertNull(cache.find(key("a"), VERSION, conf));
    }

    @Test
    void givesNothingToAJobThatDoesNotKnowTheClasses() {
        PairCache cache = new PairCache(1 << 20);
        cache.put(key("a"), block(cache, 3), VERSION, NO_SETTINGS, 0);
        conf.setClassLoader(ClassLoader.getPlatformClassLoader());
        assertNull(cache.find(key("a"), VERSION, conf));
    }

    @Test
    void followsFilesToNewNames() {
        PairCache cache = new PairCache(1 << 20);
        cache.put(key("file:/x/a"), block(cache, 3), VERSION, NO_SETTINGS, 0);
        cache.put(key("file:/x/b"), block(cache, 3), VERSION, NO_SETTINGS, 0);
        cache.put(key("file:/xy"), block(cache, 3), VERSION, NO_SETTINGS, 0);
        FileVersion now = new FileVersion(10, 20, "file", 40);
        cache.renamed("file:/x", "file:/z", name -> name.equals("file:/z/a") ? now : null);
        assertNotNull(cache.find(key("file:/z/a"), now, conf));
        assertNull(cache.find(key("file:/z/b"), now, conf));
        assertNotNull(cache.find(key("file:/xy"), VERSION, conf));
        assertNull(cache.find(key("file:/x/a"), VERSION, conf));
    }

    @Test
    void keepsNoPairsOfSeveralClasses() {
        PairCache cache = new PairCache(1 << 20);
        BlockWriter writer = BlockWriter.ofOutput(cache, false, new KnownSize());
        writer.add(new Text("a"), new IntWritable(1));
        writer.add(new Text("a"), new Text("b"));
        assertNull(writer.finish());
        BlockWriter plain = BlockWriter.ofOutput(cache, false, new KnownSize());
        plain.add("a", 1);
        assertNull(plain.finish());
        assertEquals(0, cache.usedBytes());
    }

    @Test
    void notesWhatAReaderAsksFor() {
        JobConf job = new JobConf(false);
        job.set("base", "b");
        job.set("asked", "${base}!");
        job.set("group.one", "1");
        RecordingConf recording = new RecordingConf(job);
        assertEquals("b!", recording.get("asked"));
        assertEquals(7, recording.getInt("absent", 7));
        assertEquals(Map.of("one", "1"), recording.getPropsWithPrefix("group."));
        ReadSettings settings = recording.settings();
        assertTrue(settings.areIn(job));
        job.set("unasked", "x");
        assertTrue(settings.areIn(job));
        job.set("base", "c");
        assertTrue(!settings.areIn(job));
        job.set("base", "b");
        job.set("absent", "8");
        assertTrue(!settings.areIn(job));
        job.unset("absent");
        job.set("group.two", "2");
        assertTrue(!settings.areIn(job));
        new Configuration(recording);
        assertNull(recording.settings());
    }
}
