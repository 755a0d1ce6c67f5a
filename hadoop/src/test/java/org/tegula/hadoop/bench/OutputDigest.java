package org.tegula.hadoop.bench;

import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * What the outputs of different engines have in common: the number of pairs, the values in any order, and the sum of numbers
 * without its last digits, which depend on the order of additions. Prints one line.
 */
public final class OutputDigest {
    private OutputDigest() {}

    /**
     * Reads a folder of sequence files.
     *
     * @param arguments the folder
     * @throws IOException if a file cannot be read
     */
    public static void main(String[] arguments) throws IOException {
        Configuration conf = new Configuration();
        Path folder = new Path(arguments[0]);
        FileSystem files = folder.getFileSystem(conf);
        long pairs = 0;
        long values = 0;
        double numbers = 0;
        for (FileStatus each : files.listStatus(folder, file -> file.getName().startsWith("part-"))) {
            try (SequenceFile.Reader reader = new SequenceFile.Reader(conf, SequenceFile.Reader.file(each.getPath()))) {
                Writable key = (Writable) ReflectionUtils.newInstance(reader.getKeyClass(), conf);
                Writable value = (Writable) ReflectionUtils.newInstance(reader.getValueClass(), conf);
                for (; reader.next(key, value); pairs++) {
                    if (value instanceof BytesWritable bytes) {
                        values += 31L * Arrays.hashCode(bytes.copyBytes());
                    } else if (value instanceof MatrixVector.Block block) {
                        numbers += Arrays.stream(block.copyOfNumbers()).sum();
                    }
                }
            }
        }
        System.out.println(String.format(Locale.ROOT, "%d pairs, values %d, sum %.6e", pairs, values, numbers));
    }
}
