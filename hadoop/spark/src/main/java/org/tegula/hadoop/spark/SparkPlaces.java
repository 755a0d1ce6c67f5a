package org.tegula.hadoop.spark;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.place.Invitation;
import org.tegula.hadoop.place.PlaceLauncher;

/**
 * Places as the tasks of one Spark job. It is one barrier stage, so that all of them run at once, and its tasks end only when the
 * engine does, so that Spark moves nothing. No pair goes through Spark. When a place is lost, the stage is run again as a whole, and
 * its tasks become all of the places.
 */
public final class SparkPlaces implements PlaceLauncher {
    /** How many places there are, where the setting does not say: of {@code spark://} and {@code yarn}. */
    public static final String COUNT = "tegula.places.count";

    private static final Logger LOG = LoggerFactory.getLogger(SparkPlaces.class);
    private static final Pattern LOCAL_CLUSTER = Pattern.compile("local-cluster\\[\\s*([1-9][0-9]*)\\s*,.*\\]");
    private static final Pattern MASTER = Pattern.compile("spark://.*|yarn");
    private static final String SPARK_SETTINGS = "spark.";
    private static final String GROUP = "tegula-places";
    private static final long AGAIN_MILLIS = 1000;

    private final List<Invitation> invitations = new ArrayList<>();
    private int count;
    private JavaSparkContext spark;
    private boolean begun;
    private boolean isRunning;
    private volatile boolean closed;

    /** Made by the service loader. */
    public SparkPlaces() {}

    @Override
    public int prepare(String setting, Configuration conf) throws IOException {
        Matcher cluster = LOCAL_CLUSTER.matcher(setting);
        if (!cluster.matches() && !MASTER.matcher(setting).matches()) {
            return 0;
        }
        count = cluster.matches() ? Integer.parseInt(cluster.group(1)) : conf.getInt(COUNT, 0);
        if (count < 1) {
            throw new IOException("Set " + COUNT + " to the number of places that Spark is to start at " + setting);
        }
        SparkConf settings = new SparkConf()
                .setMaster(setting)
                .setAppName("tegula places")
                .set("spark.ui.enabled", "false")
                // One task an executor: a place has all of its JVM.
                .set("spark.executor.instances", Integer.toString(count))
                .set("spark.executor.extraClassPath", classPath())
                .set("spark.stage.maxConsecutiveAttempts", "1");
        for (Map.Entry<String, String> each : conf) {
            if (each.getKey().startsWith(SPARK_SETTINGS)) {
                settings.set(each.getKey(), each.getValue());
            }
        }
        int cores = settings.getInt("spark.executor.cores", 1);
        settings.set("spark.task.cpus", Integer.toString(cores));
        spark = new JavaSparkContext(settings);
        return count;
    }

    /** Of this JVM, which the machines of the cluster have under the same names. */
    private static String classPath() {
        List<String> absolute = new ArrayList<>();
        for (String each : System.getProperty("java.class.path").split(File.pathSeparator)) {
            absolute.add(new File(each).getAbsolutePath());
        }
        return String.join(File.pathSeparator, absolute);
    }

    /** The first time, begins the stage when all are invited. Later a place was lost: the stage is given up and begun anew. */
    @Override
    public synchronized void start(Invitation invitation) {
        if (begun) {
            if (isRunning) {
                spark.cancelJobGroup(GROUP);
            }
            return;
        }
        invitations.add(invitation);
        if (invitations.size() == count) {
            begun = true;
            invitations.sort(java.util.Comparator.comparingInt(Invitation::number));
            Thread stage = new Thread(this::runStages, "tegula-places-on-spark");
            stage.setDaemon(true);
            stage.start();
        }
    }

    /** As Spark does with a barrier stage. */
    @Override
    public boolean startsAllAgain() {
        return true;
    }

    /** A stage ends when a place is lost; then another is begun. */
    private void runStages() {
        spark.setJobGroup(GROUP, "the places of an engine", true);
        while (!closed) {
            setRunning(true);
            try {
                PlaceTasks.run(spark, invitations);
            } catch (Exception e) { // of Scala, which does not declare what it throws
                LOG.warn("A stage of places has ended: {}", e.toString());
            }
            setRunning(false);
            try {
                Thread.sleep(AGAIN_MILLIS);
            } catch (InterruptedException e) {
                LOG.warn("Places that are lost from now on are not replaced ({})", Settings.PLACES, e);
                return;
            }
        }
    }

    private synchronized void setRunning(boolean runs) {
        isRunning = runs;
    }

    @Override
    public void close() {
        closed = true;
        spark.close();
    }
}
