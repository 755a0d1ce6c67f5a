package org.tegula.hadoop.compat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.session.SessionState;

/** Runs statements by Hive's own driver in this JVM, with a metastore of its own; rows and tables are in {@code out}. */
final class HiveJobs {
    private HiveJobs() {}

    private static HiveConf settings(Path folder) {
        HiveConf conf = new HiveConf();
        Map<String, String> settings = Map.ofEntries(
                Map.entry("hive.execution.engine", "mr"),
                Map.entry("hive.exec.submit.local.task.via.child", "false"),
                Map.entry("hive.exec.dynamic.partition.mode", "nonstrict"),
                Map.entry("hive.query.reexecution.enabled", "false"),
                Map.entry("hive.support.concurrency", "false"),
                // The metastore's tables are made when they are first asked for, which these two do not wait for.
                Map.entry("hive.stats.column.autogather", "false"),
                Map.entry("metastore.try.direct.sql", "false"),
                Map.entry("hive.exec.scratchdir", folder.toUri() + "scratch"),
                Map.entry("hive.exec.local.scratchdir", folder + "/scratch-local"),
                Map.entry("hive.downloaded.resources.dir", folder + "/resources"),
                Map.entry("metastore.warehouse.dir", folder.toUri() + "out/warehouse"),
                Map.entry("metastore.warehouse.external.dir", folder.toUri() + "out/external"),
                Map.entry("hive.metastore.schema.verification", "false"),
                Map.entry("datanucleus.schema.autoCreateAll", "true"),
                Map.entry("javax.jdo.option.ConnectionDriverName", "org.apache.derby.jdbc.EmbeddedDriver"),
                Map.entry(
                        "javax.jdo.option.ConnectionURL",
                        "jdbc:derby:;databaseName=" + folder + "/metastore;create=true"));
        settings.forEach(conf::set);
        // Hive does some things in other ways where the framework is local.
        if (Boolean.getBoolean("tegula.claim.local")) {
            conf.set("mapreduce.framework.name", "tegula");
        }
        return conf;
    }

    private static List<String> run(IDriver driver, String statement) throws Exception {
        driver.run(statement);
        List<String> all = new ArrayList<>();
        if (statement.startsWith("select")) {
            List<Object> rows = new ArrayList<>();
            while (driver.getResults(rows)) {
                rows.forEach(row -> all.add(row.toString()));
                rows.clear();
            }
        }
        return all;
    }

    private static List<String> statements(Path file) throws IOException {
        return List.of(Files.readString(file).split(";\\s*"));
    }

    /** Takes the file of the statements. */
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of("").toRealPath();
        Files.createDirectories(folder.resolve("out"));
        HiveConf conf = settings(folder);
        SessionState.start(conf);
        List<String> rows = new ArrayList<>();
        try (IDriver driver = DriverFactory.newDriver(conf)) {
            for (String statement : statements(Path.of(arguments[0]))) {
                rows.add(statement);
                rows.addAll(run(driver, statement));
            }
        }
        Files.write(folder.resolve("out/rows"), rows);
        System.exit(0); // threads of the metastore stay
    }
}
