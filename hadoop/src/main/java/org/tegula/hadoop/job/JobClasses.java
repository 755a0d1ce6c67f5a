package org.tegula.hadoop.job;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.util.ApplicationClassLoader;

/**
 * The classes of one job: its jar and the files that it puts on its class path, behind what the client has loaded. With
 * {@code mapreduce.job.classloader} they go before it, as in a container of Hadoop, so that static state is the job's own.
 */
final class JobClasses {
    private JobClasses() {}

    /** A loader over what is there before; it is to be closed with the job. */
    static URLClassLoader load(JobConf conf, List<URL> classPath, ClassLoader parent) throws IOException {
        List<URL> urls = new ArrayList<>(jar(conf));
        urls.addAll(classPath);
        URL[] all = urls.toArray(URL[]::new);
        if (!conf.getBoolean(MRJobConfig.MAPREDUCE_JOB_CLASSLOADER, false)) {
            return new URLClassLoader(all, parent);
        }
        String[] system = conf.getStrings(MRJobConfig.MAPREDUCE_JOB_CLASSLOADER_SYSTEM_CLASSES);
        return new ApplicationClassLoader(all, parent, system == null ? null : List.of(system));
    }

    private static List<URL> jar(JobConf conf) throws MalformedURLException {
        String name = conf.getJar();
        if (name == null) {
            return List.of();
        }
        File file = new File(new Path(name).toUri().getPath());
        return file.isFile() ? List.of(file.toURI().toURL()) : List.of();
    }
}
