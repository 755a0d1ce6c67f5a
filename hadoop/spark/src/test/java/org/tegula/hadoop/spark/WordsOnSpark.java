package org.tegula.hadoop.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;
import org.tegula.hadoop.api.PlaceCounter;

/** A program that counts words over the executors of a Spark cluster, and what must come out. */
final class WordsOnSpark {
    private final Path folder;
    private final String places;
    private final Map<String, String> settings;

    WordsOnSpark(Path folder, String places) {
        this(folder, places, Map.of());
    }

    WordsOnSpark(Path folder, String places, Map<String, String> settings) {
        this.folder = folder;
        this.places = places;
        this.settings = settings;
    }

    /** Emits words; the first attempt of the first task may end its JVM. */
    public static class Words extends Mapper<LongWritable, Text, Text, IntWritable> {
        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            if (context.getConfiguration().getBoolean("halts", false)
                    && context.getTaskAttemptID().getId() == 0
                    && context.getTaskAttemptID().getTaskID().getId() == 0) {
                Runtime.getRuntime().halt(137);
            }
            for (String each : line.toString().split(" ")) {
                context.write(new Text(each), new IntWritable(1));
            }
        }
    }

    private Job job(String framework, String out) throws IOException {
        Configuration conf = new Configuration();
        conf.set("mapreduce.framework.name", framework);
        conf.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
        settings.forEach(conf::set);
        conf.set("tegula.places", places);
        conf.setInt(SparkPlaces.COUNT, 2);
        conf.setInt("tegula.workers", 2);
        conf.setInt("spark.executor.cores", 1);
        conf.set("spark.executor.memory", "512m");
        conf.setInt("tegula.places.reruns", 1);
        Job job = Job.getInstance(conf);
        job.setMapperClass(Words.class);
        job.setReducerClass(IntSumReducer.class);
        job.setNumReduceTasks(4);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        FileInputFormat.addInputPath(
                job, new org.apache.hadoop.fs.Path(folder.resolve("in").toUri()));
        FileOutputFormat.setOutputPath(
                job, new org.apache.hadoop.fs.Path(folder.resolve(out).toUri()));
        return job;
    }

    private Map<String, String> parts(String out) throws IOException {
        Map<String, String> all = new TreeMap<>();
        for (int i = 0; i < 4; i++) {
            String name = "part-r-0000" + i;
            all.put(name, Files.readString(folder.resolve(out).resolve(name)));
        }
        return all;
    }

    private static String why(Job job) {
        try {
            return job.getStatus().getFailureInfo();
        } catch (IOException | InterruptedException e) {
            return e.toString();
        }
    }

    /** A job gives what the local runner gives, also after one of the places was killed. */
    void check() throws Exception {
        Files.createDirectories(folder.resolve("in"));
        for (int file = 0; file < 3; file++) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 1000; i++) {
                text.append("word").append(i * (file + 1) % 97).append(i % 10 == 9 ? '\n' : ' ');
            }
            Files.writeString(folder.resolve("in/" + file), text);
        }
        Job right = job("local", "right");
        assertTrue(right.waitForCompletion(false));
        Job ours = job("tegula", "ours");
        assertTrue(ours.waitForCompletion(false), () -> "the job failed");
        assertEquals(parts("right"), parts("ours"));
        assertTrue(ours.getCounters().findCounter(PlaceCounter.PAIRS_MOVED).getValue() > 0);
        Job halting = job("tegula", "halting");
        halting.getConfiguration().setBoolean("halts", true);
        assertTrue(halting.waitForCompletion(false), () -> "the job does not run again: " + why(halting));
        assertEquals(parts("right"), parts("halting"));
    }
}
