package org.tegula.hadoop.job;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.util.ApplicationClassLoader;
import org.tegula.hadoop.cache.ClassOrigin;

/**
 * The classes of one job: its jar and the files that it puts on its class path, behind what is loaded already. With
 * {@code mapreduce.job.classloader} they go before it, as in a container of Hadoop, so that static state is the job's own.
 */
final class JobClasses {
    private JobClasses() {}

    /** A loader over what is there before; it is to be closed with the job. */
    static URLClassLoader load(JobConf conf, List<URL> classPath, ClassLoader parent) throws IOException {
        URL[] all = classPath.toArray(URL[]::new);
        String[] system = conf.getStrings(MRJobConfig.MAPREDUCE_JOB_CLASSLOADER_SYSTEM_CLASSES);
        URLClassLoader loader = conf.getBoolean(MRJobConfig.MAPREDUCE_JOB_CLASSLOADER, false)
                ? new ApplicationClassLoader(all, parent, system == null ? null : List.of(system))
                : new URLClassLoader(all, parent);
        ClassOrigin.ofJob(loader, () -> fingerprint(classPath));
        return loader;
    }

    /** A digest of all that can be loaded. */
    private static String fingerprint(List<URL> classPath) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (URL each : classPath) {
                try (Stream<Path> files = Files.walk(Path.of(each.toURI()))) {
                    for (Path file :
                            (Iterable<Path>) files.filter(Files::isRegularFile).sorted()::iterator) {
                        add(file, digest);
                    }
                }
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (NoSuchAlgorithmException | URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void add(Path file, MessageDigest digest) throws IOException {
        digest.update((byte) 1);
        try (InputStream in = new DigestInputStream(Files.newInputStream(file), digest)) {
            in.transferTo(java.io.OutputStream.nullOutputStream());
        }
    }
}
