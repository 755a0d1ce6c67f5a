package org.tegula.hadoop.job;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.util.RunJar;

/**
 * The jar of a job as Hadoop puts it on the class path: itself, its folder {@code classes} and the jars in its folder
 * {@code lib}, which are unpacked until the job ends.
 */
final class JobJar implements Closeable {
    private static final Pattern INSIDE = Pattern.compile("(?:classes/|lib/).*");

    private final File file;
    private final List<URL> urls = new ArrayList<>();
    private File folder;

    private JobJar(File file) {
        this.file = file;
    }

    /** Unpacks the entries that the job needs as files, which most jars do not have. */
    static JobJar open(JobConf conf, String job) throws IOException {
        String name = conf.getJar();
        File jar = name == null ? null : new File(new Path(name).toUri().getPath());
        if (jar == null || !jar.isFile()) {
            return new JobJar(null);
        }
        JobJar opened = new JobJar(jar.getAbsoluteFile());
        opened.add(jar);
        try {
            opened.unpack(jar, conf, job);
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
        return opened;
    }

    private void add(File file) throws MalformedURLException {
        urls.add(file.toURI().toURL());
    }

    private void unpack(File jar, JobConf conf, String job) throws IOException {
        try (JarFile entries = new JarFile(jar)) {
            if (entries.stream()
                    .noneMatch(each -> INSIDE.matcher(each.getName()).matches())) {
                return;
            }
        }
        LocalDirAllocator folders = new LocalDirAllocator(MRConfig.LOCAL_DIR);
        folder = new File(
                folders.getLocalPathForWrite("tegula-jar/" + job, conf).toUri().getPath());
        RunJar.unJar(jar, folder, INSIDE);
        File classes = new File(folder, "classes");
        if (classes.isDirectory()) {
            add(classes);
        }
        File[] libraries = new File(folder, "lib").listFiles();
        if (libraries != null) {
            Arrays.sort(libraries);
            for (File library : libraries) {
                add(library);
            }
        }
    }

    /** Returns the jar itself; null if the job has none. */
    File file() {
        return file;
    }

    /** Returns the class path of the jar, and more after it. */
    List<URL> with(List<URL> more) {
        List<URL> all = new ArrayList<>(urls);
        all.addAll(more);
        return all;
    }

    @Override
    public void close() {
        if (folder != null) {
            FileUtil.fullyDelete(folder);
        }
    }
}
