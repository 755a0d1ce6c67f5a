package org.tegula.hadoop.compat;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Giraph's jobs, whose one map stage is a computation over a graph, write the same on both engines. */
class GiraphTest {
    private static final int VERTICES = 300;
    private static final int EDGES = 3;
    /** The vertex from which Giraph's example measures distances unless it is told another. */
    private static final int SOURCE = 1;

    @TempDir
    Path folder;

    /** The target and the length of each edge. */
    private final int[][][] edges = new int[VERTICES][EDGES][2];

    @BeforeEach
    void writeGraph() throws Exception {
        Random random = new Random(11);
        List<String> weighted = new ArrayList<>();
        StringBuilder plain = new StringBuilder();
        for (int vertex = 0; vertex < VERTICES; vertex++) {
            List<String> out = new ArrayList<>();
            plain.append(vertex).append('\t').append(vertex);
            for (int[] edge : edges[vertex]) {
                edge[0] = random.nextInt(VERTICES);
                edge[1] = 1 + random.nextInt(9);
                out.add(Arrays.toString(edge));
                plain.append('\t').append(edge[0]);
            }
            weighted.add("[%d,0,[%s]]".formatted(vertex, String.join(",", out)));
            plain.append('\n');
        }
        Files.createDirectories(folder.resolve("in"));
        Files.write(folder.resolve("in/weighted"), weighted);
        Files.writeString(folder.resolve("in/plain"), plain);
    }

    private double[] distances() {
        double[] distances = new double[VERTICES];
        Arrays.fill(distances, Double.MAX_VALUE);
        distances[SOURCE] = 0;
        for (int round = 0; round < VERTICES; round++) {
            for (int vertex = 0; vertex < VERTICES; vertex++) {
                if (distances[vertex] < Double.MAX_VALUE) {
                    for (int[] edge : edges[vertex]) {
                        distances[edge[0]] = Math.min(distances[edge[0]], distances[vertex] + edge[1]);
                    }
                }
            }
        }
        return distances;
    }

    private void assertDistances(Map<String, String> files, int parts) {
        Map<Integer, Double> found = new TreeMap<>();
        int withPairs = 0;
        for (Map.Entry<String, String> file : files.entrySet()) {
            if (file.getKey().startsWith("paths/part-m-")) {
                withPairs += file.getValue().isEmpty() ? 0 : 1;
                file.getValue()
                        .lines()
                        .map(line -> line.split("\t"))
                        .forEach(pair -> found.put(Integer.valueOf(pair[0]), Double.valueOf(pair[1])));
            }
        }
        double[] expected = distances();
        assertEquals(VERTICES, found.size());
        found.forEach((vertex, distance) -> assertEquals(expected[vertex], distance));
        assertEquals(parts, withPairs);
    }

    /** Hadoop's local runner runs one task at a time, in which Giraph then has its master and its only worker. */
    @Test
    void runsWithOneWorker() throws Exception {
        var ours = Framework.compare(folder, 3, List.of(GiraphJobs.class.getName(), "1", "-Dmapred.job.tracker=local"));

        assertDistances(ours.files(), 1);
    }

    /** Workers keep state in static fields, so that each is a place, as it is a container of a cluster. */
    @Test
    void runsWithThreeWorkersAtPlaces() throws Exception {
        var ours = Framework.TEGULA.run(
                folder,
                List.of(
                        GiraphJobs.class.getName(),
                        "3",
                        "-Dmapred.job.tracker=places",
                        "-Dtegula.workers=4",
                        "-Dtegula.places=jvm:4"));

        assertDistances(ours.files(), 3);
    }
}
