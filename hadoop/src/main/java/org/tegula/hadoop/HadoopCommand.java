package org.tegula.hadoop;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.mapreduce.util.ConfigUtil;
import org.apache.hadoop.util.ToolRunner;
import org.tegula.hadoop.client.ServerException;

/**
 * The commands of {@code hadoop} that scripts need: Hadoop's own classes answer them, with this engine as the framework, so
 * their output and exit codes are Hadoop's. One is the engine's own.
 */
public final class HadoopCommand {
    private static final Map<String, String> CLASSES = Map.of(
            "version", "org.apache.hadoop.util.VersionInfo",
            "classpath", "org.apache.hadoop.util.Classpath",
            "fs", Shell.class.getName(),
            "dfs", Shell.class.getName(),
            "job", "org.apache.hadoop.mapred.JobClient",
            "archive", "org.apache.hadoop.tools.HadoopArchives",
            "distcp", "org.apache.hadoop.tools.DistCp",
            "repartition", Repartition.class.getName());

    private HadoopCommand() {}

    /** Hadoop's shell of file systems, also without the site's files of settings, which its own main method insists on. */
    public static final class Shell {
        private Shell() {}

        /**
         * Runs one command of the shell, and exits.
         *
         * @param arguments of the shell
         * @throws Exception if the shell does not report an error itself
         */
        public static void main(String[] arguments) throws Exception {
            int code;
            FsShell shell = new FsShell(new Configuration());
            try {
                code = ToolRunner.run(shell, arguments);
            } finally {
                shell.close();
            }
            System.exit(code);
        }
    }

    /**
     * Runs a command.
     *
     * @param arguments the command and its arguments
     * @throws Throwable if Hadoop's class throws
     */
    public static void main(String[] arguments) throws Throwable {
        String name = arguments.length == 0 ? null : CLASSES.get(arguments[0]);
        if (name == null) {
            fail("there is no command " + Arrays.toString(arguments) + ": give one of " + CLASSES.keySet(), 2);
            return;
        }
        if (arguments.length == 1 && arguments[0].equals("classpath")) {
            System.out.println(System.getProperty("java.class.path")); // Hadoop's script answers this one itself
            return;
        }
        ConfigUtil.loadResources();
        Configuration.addDefaultResource("tegula-site.xml");
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object)
                    Arrays.copyOfRange(arguments, 1, arguments.length));
        } catch (ClassNotFoundException e) {
            fail(
                    "Hadoop's jar with " + name + " is not there: set HADOOP_HOME to a Hadoop that has its tools, in"
                            + " share/hadoop/tools/lib",
                    2);
        } catch (InvocationTargetException e) {
            ServerException.endWith(e.getCause());
            throw e.getCause();
        }
    }

    private static void fail(String why, int code) {
        System.err.println("tegula-hadoop: " + why);
        System.exit(code);
    }
}
