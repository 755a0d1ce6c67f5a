package org.tegula.hadoop.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A registered comparator with fields is one instance for all tasks, and yet orders the keys of each as its job's settings say. */
@Timeout(60)
class KeyOrdersTest {
    private static final String BACKWARDS = "test.backwards";

    static final class Key extends IntWritable {
        static {
            WritableComparator.define(Key.class, new Order());
        }

        Key() {}

        Key(int value) {
            super(value);
        }

        private static final class Order extends WritableComparator {
            private int sign = 1;

            Order() {
                super(Key.class, true);
            }

            @Override
            public void setConf(Configuration conf) {
                super.setConf(conf);
                if (conf != null) {
                    sign = conf.getBoolean(BACKWARDS, false) ? -1 : 1;
                }
            }

            @Override
            @SuppressWarnings("rawtypes")
            public int compare(WritableComparable left, WritableComparable right) {
                return sign * ((Key) left).compareTo((Key) right);
            }
        }
    }

    /** Has registered nothing, and cannot be made without its job's settings. */
    static final class SetKey extends IntWritable implements Configurable {
        @Override
        public void setConf(Configuration conf) {
            Objects.requireNonNull(conf.get(BACKWARDS));
        }

        @Override
        public Configuration getConf() {
            return null;
        }
    }

    private static JobConf conf(boolean backwards) {
        JobConf conf = new JobConf(false);
        conf.setMapOutputKeyClass(Key.class);
        conf.setBoolean(BACKWARDS, backwards);
        return conf;
    }

    @SuppressWarnings("unchecked")
    private static RawComparator<Object> order(boolean backwards) {
        return KeyOrders.sort(conf(backwards));
    }

    @Test
    void theTaskOfAnotherJobChangesNothing() {
        RawComparator<Object> backwards = order(true);
        assertEquals(1, backwards.compare(new Key(1), new Key(2)));
        RawComparator<Object> forwards = order(false);
        assertEquals(1, backwards.compare(new Key(1), new Key(2)));
        assertEquals(-1, forwards.compare(new Key(1), new Key(2)));
        assertEquals(1, backwards.compare(new Key(1), new Key(2)));
        assertEquals(-1, forwards.compare(new byte[] {0, 0, 0, 1}, 0, 4, new byte[] {0, 0, 0, 2}, 0, 4));
    }

    /** The comparator may be in use while a task begins. */
    @Test
    void norDoesTheBeginningOfOne() throws Exception {
        ExecutorService tasks = Executors.newFixedThreadPool(4);
        try {
            List<Future<Boolean>> sorted = new ArrayList<>();
            for (int task = 0; task < 200; task++) {
                boolean isBackwards = task % 2 == 0;
                sorted.add(tasks.submit(() -> sorts(isBackwards)));
            }
            for (Future<Boolean> each : sorted) {
                assertTrue(each.get());
            }
        } finally {
            tasks.shutdownNow();
        }
    }

    @Test
    void keysThatNeedSettingsAreMadeWithThem() {
        JobConf conf = conf(false);
        conf.setMapOutputKeyClass(SetKey.class);
        byte[] bytes = new byte[Integer.BYTES];
        assertEquals(0, KeyOrders.sort(conf).compare(bytes, 0, bytes.length, bytes, 0, bytes.length));
    }

    private static boolean sorts(boolean isBackwards) {
        Random random = new Random(7);
        List<Key> keys = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            keys.add(new Key(random.nextInt()));
        }
        List<Key> right = new ArrayList<>(keys);
        right.sort(isBackwards ? Comparator.reverseOrder() : Comparator.naturalOrder());
        keys.sort(order(isBackwards));
        return right.equals(keys);
    }
}
