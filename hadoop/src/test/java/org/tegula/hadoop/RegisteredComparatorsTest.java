package org.tegula.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A class of keys may register a comparator, of which Hadoop hands out the one instance. It reads keys into objects of its own,
 * so tasks that run at once must not share it.
 */
@Timeout(300)
class RegisteredComparatorsTest {
    private static final int MAPS = 4;
    private static final int KEYS = 1000;
    private static final int PAIRS = 1500;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"PLAIN, 30, false", "PLAIN, 10, true", "BACKWARDS, 10, false", "CONFIGURED, 5, false"})
    void jobsSideBySideHaveTheOutputOfTheLocalRunner(Keys keys, int jobs, boolean combines) throws Exception {
        Path in = Files.createDirectories(folder.resolve("in"));
        for (int i = 0; i < MAPS; i++) {
            Files.writeString(in.resolve("in" + i), i + "\n");
        }
        Map<String, String> right = run(Engines.LOCAL, keys, combines, "right");
        for (int i = 0; i < jobs; i++) {
            assertEquals(right, run(Engines.TEGULA, keys, combines, "out" + i), "job " + i);
        }
    }

    private Map<String, String> run(Engines engine, Keys keys, boolean combines, String name) throws Exception {
        Job job = Jobs.wordCount(engine.conf(folder.resolve("tmp")), folder.resolve("in"), folder.resolve(name));
        job.setMapperClass(keys.mapper);
        job.setReducerClass(Sum.class);
        job.getConfiguration().unset("mapreduce.job.combine.class");
        if (combines) {
            job.setCombinerClass(Sum.class);
        }
        job.setNumReduceTasks(2);
        job.setOutputKeyClass(keys.type);
        assertTrue(job.waitForCompletion(false));
        for (JobCounter each : new JobCounter[] {JobCounter.NUM_FAILED_MAPS, JobCounter.NUM_FAILED_REDUCES}) {
            assertEquals(0, job.getCounters().findCounter(each).getValue(), each.name());
        }
        return Trees.read(folder.resolve(name));
    }

    /** Keys by the way in which their comparator was made. */
    enum Keys {
        PLAIN(Plain.class, DrawsPlain.class),
        BACKWARDS(Backwards.class, DrawsBackwards.class),
        CONFIGURED(Configured.class, DrawsConfigured.class);

        private final Class<?> type;
        private final Class<? extends Draws> mapper;

        Keys(Class<?> type, Class<? extends Draws> mapper) {
            this.type = type;
            this.mapper = mapper;
        }
    }

    abstract static class Number implements WritableComparable<Number> {
        private int number;

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeInt(number);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            number = in.readInt();
        }

        @Override
        public int compareTo(Number other) {
            return Integer.compare(number, other.number);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Number that && number == that.number;
        }

        @Override
        public int hashCode() {
            return number;
        }

        @Override
        public String toString() {
            return "" + number;
        }
    }

    static class Plain extends Number {
        static {
            WritableComparator.define(Plain.class, new Order());
        }

        private static final class Order extends WritableComparator {
            private Order() {
                super(Plain.class, true);
            }
        }
    }

    /** Whose comparator knows the order from an argument alone. */
    static class Backwards extends Number {
        static {
            WritableComparator.define(Backwards.class, new Order(-1));
        }

        private static final class Order extends WritableComparator {
            private final int sign;

            @SuppressWarnings("unused")
            Order() {
                this(1);
            }

            Order(int sign) {
                super(Backwards.class, true);
                this.sign = sign;
            }

            @Override
            @SuppressWarnings({"rawtypes", "unchecked"})
            public int compare(WritableComparable left, WritableComparable right) {
                return sign * left.compareTo(right);
            }
        }
    }

    /** Whose comparator was told the order after it was made. */
    static class Configured extends Number {
        static {
            Order order = new Order();
            order.sign = -1;
            WritableComparator.define(Configured.class, order);
        }

        private static final class Order extends WritableComparator {
            private int sign = 1;

            Order() {
                super(Configured.class, true);
            }

            @Override
            @SuppressWarnings({"rawtypes", "unchecked"})
            public int compare(WritableComparable left, WritableComparable right) {
                return sign * left.compareTo(right);
            }
        }
    }

    abstract static class Draws extends Mapper<LongWritable, Text, Number, IntWritable> {
        abstract Number make();

        @Override
        protected void map(LongWritable place, Text seed, Context context) throws IOException, InterruptedException {
            Random random = new Random(Long.parseLong(seed.toString()));
            Number key = make();
            for (int i = 0; i < PAIRS; i++) {
                key.number = random.nextInt(KEYS);
                context.write(key, new IntWritable(1));
            }
        }
    }

    static class DrawsPlain extends Draws {
        @Override
        Number make() {
            return new Plain();
        }
    }

    static class DrawsBackwards extends Draws {
        @Override
        Number make() {
            return new Backwards();
        }
    }

    static class DrawsConfigured extends Draws {
        @Override
        Number make() {
            return new Configured();
        }
    }

    static class Sum extends Reducer<Number, IntWritable, Number, IntWritable> {
        @Override
        protected void reduce(Number key, Iterable<IntWritable> values, Context context)
                throws IOException, InterruptedException {
            int sum = 0;
            for (IntWritable value : values) {
                sum += value.get();
            }
            context.write(key, new IntWritable(sum));
        }
    }
}
