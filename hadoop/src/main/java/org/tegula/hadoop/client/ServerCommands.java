package org.tegula.hadoop.client;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.util.ConfigUtil;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.util.GenericOptionsParser;
import org.apache.hadoop.util.StringUtils;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.server.KeptFile;
import org.tegula.hadoop.server.PidFile;
import org.tegula.hadoop.server.ServerProtocol;

/** {@code tegula-hadoop jobs}, {@code kill}, {@code cache} and {@code stop}: show and change a server's jobs and cache, and end it. */
public final class ServerCommands {
    private static final String USAGE = "usage: tegula-hadoop jobs | kill JOB... | cache [drop [PATH]...] | stop";
    /** Longer than a server waits for its jobs, and then takes to write what it alone has in memory to a slow disk. */
    private static final long STOP_SECONDS = 3600;

    private final ServerProtocol server;
    private final PrintStream out;

    ServerCommands(ServerProtocol server, PrintStream out) {
        this.server = server;
        this.out = out;
    }

    /**
     * Runs one command.
     *
     * @param arguments the command, Hadoop's own options, and the command's arguments
     * @throws IOException if the options cannot be read
     */
    public static void main(String[] arguments) throws IOException {
        ConfigUtil.loadResources();
        Configuration.addDefaultResource("tegula-site.xml");
        Configuration conf = new Configuration();
        List<String> words = new ArrayList<>(List.of(arguments));
        String command = words.isEmpty() ? "" : words.remove(0);
        String[] operands = new GenericOptionsParser(conf, words.toArray(String[]::new)).getRemainingArgs();
        String address = conf.getTrimmed(Settings.SERVER_ADDRESS, "");
        if (address.isEmpty()) {
            address = Settings.SERVER_HOST_DEFAULT + ":" + Settings.SERVER_PORT_DEFAULT;
        }
        ServerProtocol server = ServerConnection.open(conf, address);
        try {
            if (command.equals("stop") && operands.length == 0) {
                int port = NetUtils.createSocketAddr(address, Settings.SERVER_PORT_DEFAULT, Settings.SERVER_ADDRESS)
                        .getPort();
                System.out.println(
                        "The server, process " + PidFile.of(conf, port).stop(STOP_SECONDS) + ", has ended");
                return;
            }
            new ServerCommands(server, System.out).run(command, List.of(operands));
        } catch (IOException | InterruptedException | IllegalArgumentException e) {
            System.err.println("tegula-hadoop: " + e.getMessage());
            System.exit(1);
        } finally {
            ServerConnection.close(server);
        }
    }

    void run(String command, List<String> more) throws IOException, InterruptedException {
        if (command.equals("jobs") && more.isEmpty()) {
            listJobs();
        } else if (command.equals("kill") && !more.isEmpty()) {
            for (String job : more) {
                kill(job);
            }
        } else if (command.equals("cache") && more.isEmpty()) {
            listKept();
        } else if (command.equals("cache") && more.get(0).equals("drop")) {
            drop(more.subList(1, more.size()));
        } else {
            throw new IllegalArgumentException(USAGE);
        }
    }

    private void listJobs() throws IOException, InterruptedException {
        JobStatus[] jobs = server.getAllJobs();
        out.printf("%-26s %-9s %-12s %4s %6s  %s%n", "JOB", "STATE", "USER", "MAP", "REDUCE", "NAME");
        for (JobStatus each : jobs) {
            out.printf(
                    "%-26s %-9s %-12s %3.0f%% %5.0f%%  %s%n",
                    each.getJobID(),
                    each.getState(),
                    each.getUsername(),
                    100 * each.getMapProgress(),
                    100 * each.getReduceProgress(),
                    each.getJobName());
        }
    }

    private void kill(String name) throws IOException, InterruptedException {
        JobID id = JobID.forName(name);
        JobStatus status = server.getJobStatus(id);
        if (status == null) {
            throw new IOException("There is no job " + name + ", or it ended long ago");
        }
        if (status.isJobComplete()) {
            throw new IOException(name + " has ended: " + status.getState());
        }
        server.killJob(id);
        out.println(name + " is being killed");
    }

    private void listKept() throws IOException {
        KeptFile[] kept = server.kept();
        out.printf("%10s %12s %-12s %s%n", "SIZE", "PAIRS", "USER", "PATH");
        long sum = 0;
        for (KeptFile each : kept) {
            sum += each.bytes();
            out.printf("%10s %12d %-12s %s%n", size(each.bytes()), each.pairs(), each.user(), each.path());
        }
        out.printf("%10s in all%n", size(sum));
    }

    private static String size(long bytes) {
        return StringUtils.TraditionalBinaryPrefix.long2String(bytes, "B", 1);
    }

    private void drop(List<String> paths) throws IOException {
        if (paths.isEmpty()) {
            server.drop("");
        }
        for (String each : paths) {
            Path path = new Path(each);
            boolean isRelative = path.toUri().getScheme() == null && !path.isAbsolute();
            server.drop(isRelative ? new Path(System.getProperty("user.dir"), each).toString() : each);
        }
    }
}
