package org.tegula.hadoop;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.util.ConfigUtil;
import org.apache.hadoop.util.RunJar;
import org.tegula.hadoop.client.ServerException;

/** {@code hadoop jar}, with this engine as the framework unless the program chooses another. */
public final class Launcher {
    private Launcher() {}

    /**
     * Runs a program.
     *
     * @param arguments the program's jar, its main class unless the jar names one, and its arguments
     * @throws Throwable if the program throws
     */
    public static void main(String[] arguments) throws Throwable {
        ConfigUtil.loadResources();
        Configuration.addDefaultResource("tegula-site.xml");
        try {
            new RunJar().run(arguments);
        } catch (Throwable e) {
            ServerException.endWith(e);
            throw e;
        }
    }
}
