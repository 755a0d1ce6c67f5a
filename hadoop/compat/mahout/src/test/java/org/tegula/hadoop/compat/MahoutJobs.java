package org.tegula.hadoop.compat;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.mahout.cf.taste.hadoop.item.RecommenderJob;
import org.apache.mahout.clustering.kmeans.KMeansDriver;
import org.apache.mahout.common.Pair;
import org.apache.mahout.common.RandomUtils;
import org.apache.mahout.common.iterator.sequencefile.SequenceFileIterable;
import org.apache.mahout.vectorizer.SparseVectorsFromSequenceFiles;

/** Mahout's recommendations for users that have rated items, and its clustering of texts. */
public final class MahoutJobs {
    private MahoutJobs() {}

    /** Runs in the working folder; sequence files, whose sync markers are random, are written as text. */
    public static void main(String[] arguments) throws Exception {
        RandomUtils.useTestSeed();
        run(
                new RecommenderJob(),
                "--input in/ratings --output out/recommended --tempDir temp --booleanData false"
                        + " --similarityClassname SIMILARITY_COSINE --numRecommendations 5");
        writeTexts();
        run(new SparseVectorsFromSequenceFiles(), "-i texts -o vectors -wt tfidf -ng 2 -nr 2 -s 2");
        run(
                new KMeansDriver(),
                "-i vectors/tfidf-vectors -c seeds -k 4 -o clusters -x 4 -cd 0.001 -cl"
                        + " -dm org.apache.mahout.common.distance.CosineDistanceMeasure");
        for (String folder : new String[] {
            "vectors/dictionary.file-0",
            "vectors/df-count",
            "vectors/tf-vectors",
            "vectors/tfidf-vectors",
            "seeds",
            "clusters/clusters-1",
            "clusters/clusters-2",
            "clusters/clusters-3",
            "clusters/clusteredPoints"
        }) {
            dump(folder);
        }
    }

    private static void writeTexts() throws IOException {
        Configuration conf = new Configuration();
        try (SequenceFile.Writer out = SequenceFile.createWriter(
                conf,
                SequenceFile.Writer.file(new org.apache.hadoop.fs.Path("texts/all")),
                SequenceFile.Writer.keyClass(Text.class),
                SequenceFile.Writer.valueClass(Text.class))) {
            for (String name :
                    new TreeSet<>(List.of(Path.of("in/texts").toFile().list()))) {
                out.append(new Text(name), new Text(Files.readString(Path.of("in/texts", name))));
            }
        }
    }

    /** Many of Mahout's values have no text that shows all of them. */
    private static String bytes(Writable value) {
        return HexFormat.of().formatHex(WritableUtils.toByteArray(value));
    }

    private static void run(Tool tool, String arguments) throws Exception {
        int code = ToolRunner.run(new Configuration(), tool, arguments.split(" "));
        if (code != 0) {
            throw new IllegalStateException(tool.getClass().getName() + " ended with " + code);
        }
    }

    private static void dump(String name) throws IOException {
        Configuration conf = new Configuration();
        FileSystem files = FileSystem.get(conf);
        Path text = Path.of("out", name.replace('/', '-'));
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(text))) {
            for (FileStatus file : files.globStatus(new org.apache.hadoop.fs.Path(name + "{,/part-*}"))) {
                if (file.isFile()) {
                    out.println(file.getPath().getName());
                    for (Pair<Writable, Writable> each :
                            new SequenceFileIterable<Writable, Writable>(file.getPath(), conf)) {
                        out.println(each.getFirst() + "\t" + bytes(each.getSecond()));
                    }
                }
            }
        }
    }
}
