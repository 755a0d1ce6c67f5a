package org.tegula.hadoop.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.mapred.SequenceFileOutputFormat;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.StorageLevels;
import scala.Tuple2;

/**
 * The jobs of the engine's benchmarks as programs for Spark's own data sets, over the same input: as a user of Spark would write
 * them. Between iterations the data are cached, or written to the disk and read again. Prints the time of each iteration as one
 * object of JSON a line.
 */
public final class RddJobs {
    private static final double NANOS = 1e9;

    private final JavaSparkContext spark;
    private final boolean cached;
    private final Path folder;

    private RddJobs(JavaSparkContext spark, boolean cached, Path folder) {
        this.spark = spark;
        this.cached = cached;
        this.folder = folder;
    }

    /** By a number alone. */
    private static final class Modulo extends Partitioner {
        private final int partitions;

        Modulo(int partitions) {
            this.partitions = partitions;
        }

        @Override
        public int numPartitions() {
            return partitions;
        }

        @Override
        public int getPartition(Object key) {
            int number = key instanceof MatrixVector.Place place ? place.row() : (Integer) key;
            return number % partitions;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Modulo modulo && modulo.partitions == partitions;
        }

        @Override
        public int hashCode() {
            return partitions;
        }
    }

    /** One step that is timed. */
    private interface Step {
        void run() throws IOException;
    }

    private static void time(String step, int iteration, Step work) throws IOException {
        long begin = System.nanoTime();
        work.run();
        double seconds = (System.nanoTime() - begin) / NANOS;
        System.out.println(String.format(
                Locale.ROOT,
                "{\"step\": \"%s\", \"iteration\": %d, \"wall_s\": %.4f, \"cpu_s\": 0}",
                step,
                iteration,
                seconds));
    }

    private String path(String name) {
        return new Path(folder, name).toString();
    }

    private JavaPairRDD<Integer, byte[]> readPairs(String name, int partitions) {
        return spark.sequenceFile(path(name), IntWritable.class, BytesWritable.class, partitions)
                .mapToPair(pair -> new Tuple2<>(pair._1.get(), pair._2.copyBytes()));
    }

    private void savePairs(JavaPairRDD<Integer, byte[]> pairs, String name) {
        pairs.mapToPair(pair -> new Tuple2<>(new IntWritable(pair._1), new BytesWritable(pair._2)))
                .saveAsHadoopFile(path(name), IntWritable.class, BytesWritable.class, SequenceFileOutputFormat.class);
    }

    private static Iterator<Tuple2<Integer, byte[]>> send(
            int index, Iterator<Tuple2<Integer, byte[]>> pairs, int percent) {
        Random random = new Random(index);
        List<Tuple2<Integer, byte[]>> sent = new ArrayList<>();
        pairs.forEachRemaining(
                pair -> sent.add(random.nextInt(100) < percent ? new Tuple2<>(pair._1 + 1, pair._2) : pair));
        return sent.iterator();
    }

    private void pairs(int count, int partitions, int percent, int iterations) throws IOException {
        ShuffledPairs.write(spark.hadoopConfiguration(), new Path(folder, "in"), count, partitions);
        List<JavaPairRDD<Integer, byte[]>> last = new ArrayList<>();
        last.add(readPairs("in", partitions));
        for (int iteration = 0; iteration < iterations; iteration++) {
            boolean isLast = iteration == iterations - 1;
            String out = isLast ? "out" : "step-" + iteration;
            time("pairs", iteration, () -> {
                JavaPairRDD<Integer, byte[]> before = last.remove(0);
                JavaPairRDD<Integer, byte[]> next = JavaPairRDD.fromJavaRDD(
                                before.mapPartitionsWithIndex((index, each) -> send(index, each, percent), false))
                        .repartitionAndSortWithinPartitions(new Modulo(partitions));
                if (isLast || !cached) {
                    savePairs(next, out);
                    last.add(readPairs(out, partitions));
                } else {
                    last.add(next.persist(StorageLevels.MEMORY_ONLY));
                    next.count();
                }
                before.unpersist(false);
            });
        }
    }

    private JavaPairRDD<MatrixVector.Place, MatrixVector.Block> readBlocks(String name, int partitions) {
        return spark.sequenceFile(path(name), MatrixVector.Place.class, MatrixVector.Block.class, partitions)
                .mapToPair(pair -> new Tuple2<>(pair._1.copy(), pair._2.view()))
                .partitionBy(new Modulo(partitions));
    }

    private static MatrixVector.Block sum(MatrixVector.Block one, MatrixVector.Block other) {
        double[] sum = one.copyOfNumbers();
        other.addTo(sum);
        return MatrixVector.Block.vector(sum);
    }

    private void matrix(int blocks, int partitions, int iterations) throws IOException {
        Configuration conf = spark.hadoopConfiguration();
        MatrixVector.write(conf, new Path(folder, "matrix"), blocks, partitions, false);
        MatrixVector.write(conf, new Path(folder, "vector"), blocks, partitions, true);
        Modulo byRow = new Modulo(partitions);
        JavaPairRDD<MatrixVector.Place, MatrixVector.Block> matrix = readBlocks("matrix", partitions);
        if (cached) {
            matrix = matrix.persist(StorageLevels.MEMORY_ONLY);
        }
        JavaPairRDD<MatrixVector.Place, MatrixVector.Block> all = matrix;
        List<JavaPairRDD<MatrixVector.Place, MatrixVector.Block>> last = new ArrayList<>();
        last.add(readBlocks("vector", partitions));
        for (int iteration = 0; iteration < iterations; iteration++) {
            boolean isLast = iteration == iterations - 1;
            String out = isLast ? "out" : "step-" + iteration;
            time("multiply", iteration, () -> {
                JavaPairRDD<MatrixVector.Place, MatrixVector.Block> before = last.remove(0);
                JavaPairRDD<MatrixVector.Place, MatrixVector.Block> next = all.join(
                                before.flatMapToPair(pair -> toColumn(pair, blocks)), byRow)
                        .mapToPair(both ->
                                new Tuple2<>(new MatrixVector.Place(both._1.row(), 0), both._2._1.times(both._2._2)))
                        .reduceByKey(byRow, RddJobs::sum);
                if (isLast || !cached) {
                    next.saveAsHadoopFile(
                            path(out),
                            MatrixVector.Place.class,
                            MatrixVector.Block.class,
                            SequenceFileOutputFormat.class);
                    last.add(readBlocks(out, partitions));
                } else {
                    last.add(next.persist(StorageLevels.MEMORY_ONLY));
                    next.count();
                }
                before.unpersist(false);
            });
        }
    }

    private static Iterator<Tuple2<MatrixVector.Place, MatrixVector.Block>> toColumn(
            Tuple2<MatrixVector.Place, MatrixVector.Block> pair, int blocks) {
        List<Tuple2<MatrixVector.Place, MatrixVector.Block>> sent = new ArrayList<>();
        for (int row = 0; row < blocks; row++) {
            sent.add(new Tuple2<>(new MatrixVector.Place(row, pair._1.row()), pair._2));
        }
        return sent.iterator();
    }

    private void words(String text, int partitions) throws IOException {
        time("words", 0, () -> spark.textFile(text, partitions)
                .flatMap(line -> Arrays.asList(line.split("\\s+")).iterator())
                .filter(word -> !word.isEmpty())
                .mapToPair(word -> new Tuple2<>(word, 1))
                .reduceByKey(Integer::sum, partitions)
                .saveAsTextFile(path("out")));
    }

    /**
     * Runs one of the jobs.
     *
     * @param arguments {@code cached} or {@code disk}, a folder, and {@code pairs}, {@code matrix} or {@code words} with what
     *     follows the folder for the engine's program of the job
     * @throws IOException if the input cannot be written
     */
    public static void main(String[] arguments) throws IOException {
        SparkConf conf = new SparkConf()
                .setAppName("RDD jobs")
                .set("spark.ui.enabled", "false")
                .set("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        Path folder = new Path(arguments[1]);
        int[] numbers = Arrays.stream(arguments)
                .skip(3)
                .filter(each -> each.matches("[0-9]+"))
                .mapToInt(Integer::parseInt)
                .toArray();
        try (JavaSparkContext spark = new JavaSparkContext(conf)) {
            if (!arguments[2].equals("words")) {
                spark.hadoopConfiguration().setLong("mapreduce.input.fileinputformat.split.minsize", Long.MAX_VALUE);
            }
            RddJobs jobs = new RddJobs(spark, arguments[0].equals("cached"), folder);
            switch (arguments[2]) {
                case "pairs" -> jobs.pairs(numbers[0], numbers[1], numbers[2], numbers[3]);
                case "matrix" -> jobs.matrix(numbers[0], numbers[1], numbers[2]);
                case "words" -> jobs.words(arguments[3], numbers[0]);
                default -> throw new IllegalArgumentException(arguments[2]);
            }
        }
    }
}
