package org.tegula.hadoop.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tegula.hadoop.live.KnownSize;

/** No job waits in the cache until another has loaded its classes, or read its jars. */
@Timeout(30)
class CacheLocksTest {
    private static final FileVersion VERSION = new FileVersion(10, 20, "file", 30);
    private static final ReadSettings NO_SETTINGS = new ReadSettings(Map.of(), Map.of());

    private final PairCache cache = new PairCache(1 << 20);
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch end = new CountDownLatch(1);

    private static BlockKey key(String name) {
        return new BlockKey("user", name, 0, 10, "format");
    }

    private void put(String name) {
        BlockWriter writer = BlockWriter.ofOutput(cache, false, new KnownSize());
        writer.add(new Text("a"), new IntWritable(1));
        cache.put(key(name), writer.finish(), VERSION, NO_SETTINGS, 0);
    }

    private void hang() {
        begun.countDown();
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Runs something that does not end before the others have been checked. */
    private void during(Runnable hanging, Runnable others) throws InterruptedException {
        Thread thread = new Thread(hanging);
        thread.start();
        begun.await();
        Thread other = new Thread(others);
        other.start();
        other.join(10_000);
        boolean waits = other.isAlive();
        end.countDown();
        other.join();
        thread.join();
        assertFalse(waits, "others wait");
    }

    @Test
    void othersFindTheirPairsWhileAJobLoadsItsClasses() throws Exception {
        put("a");
        Configuration slow = new Configuration(false);
        slow.setClassLoader(new ClassLoader(null) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                hang();
                return Text.class.getClassLoader().loadClass(name);
            }
        });
        during(
                () -> assertNotNull(cache.find(key("a"), VERSION, slow)),
                () -> assertNotNull(cache.find(key("a"), VERSION, new Configuration(false))));
    }

    @Test
    void othersLearnWhereTheirClassesComeFromWhileJarsAreRead() throws Exception {
        URL[] classes = {
            Text.class.getProtectionDomain().getCodeSource().getLocation(),
            getClass().getProtectionDomain().getCodeSource().getLocation()
        };
        try (URLClassLoader one = new URLClassLoader(classes, null);
                URLClassLoader two = new URLClassLoader(classes, null)) {
            ClassOrigin.ofJob(one, () -> {
                hang();
                return "one";
            });
            ClassOrigin.ofJob(two, () -> "two");
            Class<?> ofOne = one.loadClass(getClass().getName());
            Class<?> ofTwo = two.loadClass(getClass().getName());
            during(() -> ClassOrigin.of(ofOne), () -> {
                ClassOrigin.of(ofTwo);
                ClassOrigin.isOfJob(ofOne);
            });
            assertEquals("one", ClassOrigin.of(ofOne));
            assertEquals("two", ClassOrigin.of(ofTwo));
            assertTrue(ClassOrigin.isOfJob(ofOne));
            assertFalse(ClassOrigin.isOfJob(getClass()));
        }
    }

    @Test
    void othersFindTheirPairsWhileAFileSystemIsAskedAboutARenamedFile() throws Exception {
        put("a");
        put("b");
        during(
                () -> cache.renamed("a", "c", name -> {
                    hang();
                    return VERSION;
                }),
                () -> assertNotNull(cache.find(key("b"), VERSION, new Configuration(false))));
        assertFalse(cache.holds("a"));
        assertNotNull(cache.find(key("c"), VERSION, new Configuration(false)));
    }

    /** To look at each block for each of them took more than ten seconds. */
    @Test
    @Timeout(8)
    void deletingManyFilesLooksAtTheirBlocksAlone() {
        PairCache large = new PairCache(1L << 40);
        PairBlock none = new BlockOfNothing();
        for (int file = 0; file < 40_000; file++) {
            large.put(key("file:/x/" + file), none, VERSION, NO_SETTINGS, 0);
        }
        for (int file = 0; file < 40_000; file++) {
            assertTrue(large.holds("file:/x/" + file));
            large.renamed("file:/x/" + file, "file:/y/" + file, name -> VERSION);
            large.forget("file:/y/" + file);
        }
        assertTrue(large.isEmpty());
    }

    private static final class BlockOfNothing extends PairBlock {
        BlockOfNothing() {
            super(Text.class, Text.class, 0);
        }

        @Override
        long heldBytes() {
            return 0;
        }

        @Override
        void release() {}

        @Override
        boolean fits(Class<?> keys, Class<?> values) {
            return true;
        }

        @Override
        public BlockCursor open(Configuration conf) {
            throw new UnsupportedOperationException("it has no pairs");
        }
    }
}
