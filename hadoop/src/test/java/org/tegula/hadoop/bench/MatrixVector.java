package org.tegula.hadoop.bench;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.MultipleInputs;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.tegula.hadoop.api.ImmutableOutput;

/**
 * A sparse matrix times a dense vector, again and again, as in the paper on M3R: blocks of 1000 x 1000 with one number in a
 * thousand, in compressed columns; the first job of an iteration sends each block of the vector to all blocks of its
 * column and multiplies, the second adds up the rows.
 */
public final class MatrixVector extends Configured implements Tool {
    private static final int BLOCK = 1000;
    private static final double SPARSITY = 0.001;
    private static final String BLOCKS = "matrix.blocks";

    private MatrixVector() {}

    /** A place in a matrix of blocks. */
    public static final class Place implements WritableComparable<Place> {
        private int row;
        private int column;

        /** Made by Hadoop. */
        public Place() {}

        Place(int row, int column) {
            this.row = row;
            this.column = column;
        }

        Place copy() {
            return new Place(row, column);
        }

        int row() {
            return row;
        }

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeInt(row);
            out.writeInt(column);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            row = in.readInt();
            column = in.readInt();
        }

        @Override
        public int compareTo(Place other) {
            return row != other.row ? Integer.compare(row, other.row) : Integer.compare(column, other.column);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Place place && compareTo(place) == 0;
        }

        @Override
        public int hashCode() {
            return 31 * row + column;
        }
    }

    /** A block of the matrix with compressed columns, or a block of a vector, which has no columns. */
    public static final class Block implements Writable {
        private int[] columns = {};
        private int[] rows = {};
        private double[] numbers = {};

        /** Made by Hadoop. */
        public Block() {}

        static Block vector(double[] numbers) {
            Block block = new Block();
            block.numbers = numbers;
            return block;
        }

        static Block sparse(Random random) {
            Block block = new Block();
            int each = (int) (BLOCK * SPARSITY);
            block.columns = new int[BLOCK + 1];
            block.rows = new int[BLOCK * each];
            block.numbers = new double[BLOCK * each];
            for (int i = 0; i < block.rows.length; i++) {
                block.rows[i] = random.nextInt(BLOCK);
                block.numbers[i] = random.nextDouble();
            }
            for (int column = 0; column <= BLOCK; column++) {
                block.columns[column] = column * each;
            }
            return block;
        }

        /** The same contents in an object that Hadoop does not use again; its arrays are made anew for each block anyway. */
        Block view() {
            Block block = vector(numbers);
            block.columns = columns;
            block.rows = rows;
            return block;
        }

        boolean isVector() {
            return columns.length == 0;
        }

        Block times(Block vector) {
            double[] product = new double[BLOCK];
            for (int column = 0; column < BLOCK; column++) {
                for (int i = columns[column]; i < columns[column + 1]; i++) {
                    product[rows[i]] += numbers[i] * vector.numbers[column];
                }
            }
            return vector(product);
        }

        double[] copyOfNumbers() {
            return numbers.clone();
        }

        void addTo(double[] sum) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] += numbers[i];
            }
        }

        @Override
        public void write(DataOutput out) throws IOException {
            for (int[] each : new int[][] {columns, rows}) {
                out.writeInt(each.length);
                for (int number : each) {
                    out.writeInt(number);
                }
            }
            out.writeInt(numbers.length);
            for (double number : numbers) {
                out.writeDouble(number);
            }
        }

        private static int[] readInts(DataInput in) throws IOException {
            int[] read = new int[in.readInt()];
            for (int i = 0; i < read.length; i++) {
                read[i] = in.readInt();
            }
            return read;
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            columns = readInts(in);
            rows = readInts(in);
            numbers = new double[in.readInt()];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = in.readDouble();
            }
        }
    }

    /** By rows of blocks: a partition has whole rows of the matrix, and their blocks of the vector. */
    public static final class ByRow extends Partitioner<Place, Block> {
        /** Made by Hadoop. */
        public ByRow() {}

        @Override
        public int getPartition(Place place, Block block, int partitions) {
            return place.row % partitions;
        }
    }

    /** Passes blocks of the matrix on. */
    public static final class Passes extends Mapper<Place, Block, Place, Block> implements ImmutableOutput {
        /** Made by Hadoop. */
        public Passes() {}
    }

    /** Sends a block of the vector to all blocks of its column. */
    public static final class Broadcasts extends Mapper<Place, Block, Place, Block> implements ImmutableOutput {
        /** Made by Hadoop. */
        public Broadcasts() {}

        @Override
        protected void map(Place place, Block block, Context context) throws IOException, InterruptedException {
            int blocks = context.getConfiguration().getInt(BLOCKS, 0);
            for (int row = 0; row < blocks; row++) {
                context.write(new Place(row, place.row), block);
            }
        }
    }

    /** Multiplies a block of the matrix with that of the vector. */
    public static final class Multiplies extends Reducer<Place, Block, Place, Block> implements ImmutableOutput {
        /** Made by Hadoop. */
        public Multiplies() {}

        @Override
        protected void reduce(Place place, Iterable<Block> blocks, Context context)
                throws IOException, InterruptedException {
            List<Block> both = new ArrayList<>();
            blocks.forEach(block -> both.add(block.view()));
            boolean vectorFirst = both.get(0).isVector();
            context.write(place, both.get(vectorFirst ? 1 : 0).times(both.get(vectorFirst ? 0 : 1)));
        }
    }

    /** Brings the products of a row together. */
    public static final class Gathers extends Mapper<Place, Block, Place, Block> implements ImmutableOutput {
        /** Made by Hadoop. */
        public Gathers() {}

        @Override
        protected void map(Place place, Block block, Context context) throws IOException, InterruptedException {
            context.write(new Place(place.row, 0), block);
        }
    }

    /** Adds up a row. */
    public static final class Adds extends Reducer<Place, Block, Place, Block> implements ImmutableOutput {
        /** Made by Hadoop. */
        public Adds() {}

        @Override
        protected void reduce(Place place, Iterable<Block> blocks, Context context)
                throws IOException, InterruptedException {
            double[] sum = new double[BLOCK];
            for (Block block : blocks) {
                block.addTo(sum);
            }
            context.write(place, Block.vector(sum));
        }
    }

    private Job job(String name, Path out, int partitions) throws IOException {
        Job job = Job.getInstance(new Configuration(getConf()), name);
        job.setJarByClass(MatrixVector.class);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setPartitionerClass(ByRow.class);
        job.setNumReduceTasks(partitions);
        job.setOutputKeyClass(Place.class);
        job.setOutputValueClass(Block.class);
        FileOutputFormat.setOutputPath(job, out);
        return job;
    }

    static void write(Configuration conf, Path folder, int blocks, int partitions, boolean vector) throws IOException {
        Random random = new Random(2);
        for (int partition = 0; partition < partitions; partition++) {
            Path file = new Path(folder, String.format("part-r-%05d", partition));
            try (SequenceFile.Writer writer = SequenceFile.createWriter(
                    conf,
                    SequenceFile.Writer.file(file),
                    SequenceFile.Writer.keyClass(Place.class),
                    SequenceFile.Writer.valueClass(Block.class),
                    SequenceFile.Writer.compression(SequenceFile.CompressionType.NONE))) {
                for (int row = partition; row < blocks; row += partitions) {
                    for (int column = 0; column < (vector ? 1 : blocks); column++) {
                        writer.append(
                                new Place(row, column),
                                vector ? Block.vector(random.doubles(BLOCK).toArray()) : Block.sparse(random));
                    }
                }
            }
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        Path folder = new Path(arguments[0]);
        int blocks = Integer.parseInt(arguments[1]);
        int partitions = Integer.parseInt(arguments[2]);
        int iterations = Integer.parseInt(arguments[3]);
        FileSystem files = folder.getFileSystem(getConf());
        getConf().setInt(BLOCKS, blocks);
        getConf().setLong("mapreduce.input.fileinputformat.split.minsize", Long.MAX_VALUE);
        Path matrix = new Path(folder, "matrix");
        Path vector = new Path(folder, "vector");
        write(getConf(), matrix, blocks, partitions, false);
        write(getConf(), vector, blocks, partitions, true);
        for (int iteration = 0; iteration < iterations; iteration++) {
            Path products = new Path(folder, "temp-products" + iteration);
            Path next = new Path(folder, iteration < iterations - 1 ? "temp-vector" + iteration : "out");
            Job multiply = job("multiply", products, partitions);
            MultipleInputs.addInputPath(multiply, matrix, SequenceFileInputFormat.class, Passes.class);
            MultipleInputs.addInputPath(multiply, vector, SequenceFileInputFormat.class, Broadcasts.class);
            multiply.setReducerClass(Multiplies.class);
            TimedJobs.run("multiply", iteration, multiply);
            Job add = job("add", next, partitions);
            add.setMapperClass(Gathers.class);
            add.setReducerClass(Adds.class);
            FileInputFormat.addInputPath(add, products);
            TimedJobs.run("add", iteration, add);
            files.delete(products, true);
            files.delete(vector, true);
            vector = next;
        }
        return 0;
    }

    /**
     * Runs the jobs.
     *
     * @param arguments options of Hadoop, a folder, how many blocks the matrix has each way, the number of partitions, the
     *     number of iterations
     * @throws Exception if a job fails
     */
    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new MatrixVector(), arguments));
    }
}
