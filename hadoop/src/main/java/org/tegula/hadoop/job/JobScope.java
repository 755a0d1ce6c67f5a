package org.tegula.hadoop.job;

import java.io.Closeable;
import java.io.IOException;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.mapred.JobConf;

/** The files and classes of one job in this JVM, until the job ends: its distributed cache, its jar, its class loader. */
public final class JobScope implements Closeable {
    private final LocalCache cache;
    private final JobJar jar;
    private final URLClassLoader classes;

    private JobScope(LocalCache cache, JobJar jar, URLClassLoader classes) {
        this.cache = cache;
        this.jar = jar;
        this.classes = classes;
    }

    /**
     * Copies and links the files of a job, and sets their paths in its configuration.
     *
     * @param conf of the job
     * @param job its name
     * @param folders where files of the distributed cache are linked
     * @param parent the loader of all other classes
     * @param stopped whether the job was killed meanwhile
     * @return the scope, to be closed
     * @throws IOException if a file cannot be copied
     */
    public static JobScope open(
            JobConf conf, String job, Set<Path> folders, ClassLoader parent, BooleanSupplier stopped)
            throws IOException {
        LocalCache cache = LocalCache.fill(conf, job, folders, stopped);
        JobJar jar = null;
        try {
            jar = JobJar.open(conf, job);
            return new JobScope(cache, jar, JobClasses.load(conf, jar, cache.classPath(), parent));
        } catch (IOException | RuntimeException e) {
            if (jar != null) {
                jar.close();
            }
            cache.close();
            throw e;
        }
    }

    /**
     * The loader of the job's classes.
     *
     * @return the loader itself
     */
    public URLClassLoader classes() {
        return classes;
    }

    /** Makes other code forget the job's classes, which would stay in memory. */
    public void forgetClasses() {
        HadoopRegistries.forget(classes);
    }

    @Override
    public void close() throws IOException {
        try (cache;
                jar) {
            classes.close();
        }
    }
}
