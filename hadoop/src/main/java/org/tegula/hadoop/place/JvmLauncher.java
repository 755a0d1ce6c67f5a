package org.tegula.hadoop.place;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.util.StringUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;

/**
 * Places that are child processes on this machine: JVMs with the class path of this one, each in a working folder of its own.
 * They get the secret on their standard input, where no other user sees it.
 */
final class JvmLauncher implements PlaceLauncher {
    private static final Logger LOG = LoggerFactory.getLogger(JvmLauncher.class);
    private static final Pattern SETTING = Pattern.compile("jvm:([1-9][0-9]{0,2})");

    private static final String PROCESSORS = "-XX:ActiveProcessorCount=";

    /** How often a method is called, or a loop goes round, before it is compiled the second time. */
    private static final List<String> SECOND_COMPILER = List.of(
            "Tier4InvocationThreshold",
            "Tier4MinInvocationThreshold",
            "Tier4CompileThreshold",
            "Tier4BackEdgeThreshold");

    private static final long SECOND_COMPILER_FACTOR = 10;

    private final Map<Integer, Child> children = new ConcurrentHashMap<>();
    private final List<String> options = new ArrayList<>();
    private Path folder;

    private record Child(Process process, Path folder) {
        /** Its tasks may have started processes, which only now can be told from others. */
        void end() {
            List<ProcessHandle> below = process.descendants().toList();
            process.destroyForcibly();
            below.forEach(ProcessHandle::destroyForcibly);
            FileUtil.fullyDelete(folder.toFile());
        }
    }

    @Override
    public int prepare(String setting, Configuration conf) throws IOException {
        Matcher matcher = SETTING.matcher(setting);
        if (!matcher.matches()) {
            return 0;
        }
        int count = Integer.parseInt(matcher.group(1));
        options.addAll(shareOfProcessors(count));
        long heapMb = Math.max(128, (Runtime.getRuntime().maxMemory() >> 20) / count);
        options.add("-Xmx" + heapMb + "m");
        for (String each : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            boolean isOfAllPlaces = each.startsWith(PROCESSORS);
            if (!isOfAllPlaces && (each.startsWith("-XX:") || each.startsWith("-D") || each.startsWith("--add-"))) {
                options.add(each);
            }
        }
        options.addAll(StringUtils.getStringCollection(conf.get(Settings.PLACES_JAVA_OPTS), " \t\n"));
        folder = Path.of(conf.get("hadoop.tmp.dir"));
        Files.createDirectories(folder);
        return count;
    }

    /**
     * Options by which as many JVMs as there are places get on with the processors of one. Each has its own number of threads
     * for its collector and its compilers. The second compiler leaves alone what runs for each job, which would cost it more
     * at all places than it saves; what runs for each record is called more often than that within the first job.
     */
    private static List<String> shareOfProcessors(int places) {
        List<String> options = new ArrayList<>();
        int processors = Runtime.getRuntime().availableProcessors();
        options.add(PROCESSORS + (processors + places - 1) / places);
        HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        for (String each : SECOND_COMPILER) {
            try {
                long usual = Long.parseLong(jvm.getVMOption(each).getValue());
                options.add("-XX:" + each + "=" + SECOND_COMPILER_FACTOR * usual);
            } catch (IllegalArgumentException e) {
                LOG.debug("This JVM has no {}", each, e);
            }
        }
        return options;
    }

    @Override
    public void start(Invitation invitation) throws IOException {
        Child before = children.remove(invitation.number());
        if (before != null) {
            before.end();
        }
        Files.createDirectories(folder); // what clears temporary files may have taken it
        Path own = Files.createTempDirectory(folder, "tegula-place-" + invitation.number() + "-");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", classPath(), PlaceMain.class.getName()));
        command.addAll(
                List.of(invitation.host(), Integer.toString(invitation.port()), Integer.toString(invitation.number())));
        Process process = new ProcessBuilder(command)
                .directory(own.toFile())
                .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        children.put(invitation.number(), new Child(process, own));
        tell(process, invitation.secret());
        LOG.debug("Place {} is process {}", invitation.number(), process.pid());
    }

    /** A JVM that ends before it reads its secret, because of its options, is one that has ended early, like any other. */
    private static void tell(Process process, String secret) {
        try {
            process.getOutputStream().write((secret + "\n").getBytes(StandardCharsets.US_ASCII));
            process.getOutputStream().flush();
        } catch (IOException e) {
            LOG.debug("Process {} does not take its secret", process.pid(), e);
            process.destroyForcibly();
        }
    }

    @Override
    public boolean mayConnect(int number) {
        Child child = children.get(number);
        return child == null || child.process.isAlive();
    }

    /** Names that are relative to the folder of this JVM must be found from another. */
    private static String classPath() {
        List<String> absolute = new ArrayList<>();
        for (String each : System.getProperty("java.class.path").split(File.pathSeparator)) {
            absolute.add(new File(each).getAbsolutePath());
        }
        return String.join(File.pathSeparator, absolute);
    }

    @Override
    public void close() {
        children.values().forEach(Child::end);
        children.clear();
    }
}
