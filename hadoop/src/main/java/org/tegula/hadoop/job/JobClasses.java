package org.tegula.hadoop.job;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.Certificate;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.util.ApplicationClassLoader;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.ClassOrigin;

/**
 * The classes of one job: its jar and the files that it puts on its class path, after the loaded classes. With {@code
 * mapreduce.job.classloader} they go before those, as in a container of Hadoop, so that static state is the job's own. With
 * {@link Settings#CLASSES_APART}, this holds for the classes of the job's jar that the JVM would load from a jar with the same
 * bytes: it is then the same code. A job that names classes which the JVM has and its own files have not shares all with the
 * JVM, because those may extend classes of its jar. A call to end the JVM ends their attempt.
 */
final class JobClasses {
    private static final Pattern CLASS_NAME = Pattern.compile("(?:[a-z_]\\w*\\.)*[A-Z][\\w$]*");
    private static final List<String> COMMON = Stream.concat(
                    Stream.of(ApplicationClassLoader.SYSTEM_CLASSES_DEFAULT.split(",")),
                    Stream.of("org.tegula.hadoop."))
            .toList();

    private JobClasses() {}

    /** Returns a loader over the present one; the caller closes it with the job. */
    static URLClassLoader load(JobConf conf, JobJar jar, List<URL> more, ClassLoader parent) throws IOException {
        List<URL> classPath = jar.with(more);
        URL[] all = classPath.toArray(URL[]::new);
        String[] named = conf.getStrings(MRJobConfig.MAPREDUCE_JOB_CLASSLOADER_SYSTEM_CLASSES);
        List<String> system = named == null ? null : List.of(named);
        URLClassLoader loader;
        if (conf.getBoolean(MRJobConfig.MAPREDUCE_JOB_CLASSLOADER, false)) {
            loader = new OwnFirst(all, parent, system);
        } else if (jar.file() != null
                && conf.getBoolean(Settings.CLASSES_APART, false)
                && isComplete(conf, all, parent)) {
            loader = new TwinFirst(jar.file(), all, parent);
        } else {
            loader = new OwnLast(all, parent);
        }
        ClassOrigin.ofJob(loader, () -> fingerprint(classPath));
        return loader;
    }

    /** Whether no setting of the job's own names a class that the JVM alone has, Hadoop's and Java's aside. */
    private static boolean isComplete(JobConf conf, URL[] classPath, ClassLoader parent) throws IOException {
        try (URLClassLoader own = new URLClassLoader(classPath, null)) {
            for (Map.Entry<String, String> each : conf) {
                String name = each.getValue();
                if (CLASS_NAME.matcher(name).matches()
                        && !isCommon(name)
                        && own.findResource(file(name)) == null
                        && parent.getResource(file(name)) != null
                        && !isDefault(conf, each.getKey())) {
                    return false;
                }
            }
        }
        return true;
    }

    private static boolean isCommon(String type) {
        return ApplicationClassLoader.isSystemClass(type, COMMON);
    }

    private static boolean isDefault(JobConf conf, String key) {
        String[] sources = conf.getPropertySources(key);
        return sources != null && sources[0].endsWith("-default.xml");
    }

    private static class OwnLast extends URLClassLoader {
        OwnLast(URL[] classPath, ClassLoader parent) {
            super(classPath, parent);
        }

        @Override
        public InputStream getResourceAsStream(String name) {
            return stream(getResource(name));
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] changed = changed(this, name);
            return changed == null
                    ? super.findClass(name)
                    : defineClass(name, changed, 0, changed.length, source(findResource(file(name)), name));
        }
    }

    /** Classes of the job's jar go before those that the parent would load from a jar with the same bytes. */
    private static final class TwinFirst extends OwnLast {
        private final File jar;
        private final Map<String, Boolean> twins = new HashMap<>();

        TwinFirst(File jar, URL[] classPath, ClassLoader parent) {
            super(classPath, parent);
            this.jar = jar;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                if (findLoadedClass(name) == null && !isCommon(name) && isTwin(name)) {
                    findClass(name);
                }
                return super.loadClass(name, resolve);
            }
        }

        private boolean isTwin(String name) {
            if (!isIn(jar, findResource(file(name)), name)) {
                return false;
            }
            URL usual = getParent().getResource(file(name));
            return usual != null && twins.computeIfAbsent(root(usual, name), this::isTwinOf);
        }

        private boolean isTwinOf(String root) {
            try {
                File other = new File(new URI(root));
                return other.isFile() && Files.mismatch(jar.toPath(), other.toPath()) < 0;
            } catch (IOException | URISyntaxException | IllegalArgumentException e) {
                return false; // no file of this machine
            }
        }

        private static boolean isIn(File jar, URL resource, String name) {
            return resource != null && root(resource, name).equals(jar.toURI().toString());
        }
    }

    private static final class OwnFirst extends ApplicationClassLoader {
        OwnFirst(URL[] classPath, ClassLoader parent, List<String> system) {
            super(classPath, parent, system);
        }

        @Override
        public InputStream getResourceAsStream(String name) {
            return stream(getResource(name));
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] changed = changed(this, name);
            return changed == null
                    ? super.findClass(name)
                    : defineClass(name, changed, 0, changed.length, source(findResource(file(name)), name));
        }
    }

    private static String file(String type) {
        return type.replace('.', '/') + ".class";
    }

    /** The bytes of a class that must not be loaded as it is; null for all others. */
    private static byte[] changed(URLClassLoader loader, String type) {
        URL found = loader.findResource(file(type));
        if (found == null) {
            return null;
        }
        try (InputStream in = open(found)) {
            byte[] bytes = in.readAllBytes();
            byte[] changed = JobExit.in(bytes);
            return changed == bytes ? null : changed;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Opens a resource by itself. Java keeps one open jar of each name for all loaders, and the first one that is closed closes it
     * for all.
     */
    private static InputStream open(URL resource) throws IOException {
        URLConnection connection = resource.openConnection();
        connection.setUseCaches(false);
        return connection.getInputStream();
    }

    /** Returns the stream of a resource for a program, to which one that cannot be read is not there. */
    private static InputStream stream(URL resource) {
        try {
            return resource == null ? null : open(resource);
        } catch (IOException e) {
            return null;
        }
    }

    /** The jar or folder that a class is in, which programs ask for. */
    private static CodeSource source(URL resource, String type) {
        try {
            return new CodeSource(new URL(root(resource, type)), (Certificate[]) null);
        } catch (MalformedURLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The address of that jar or folder. */
    private static String root(URL resource, String type) {
        String place = resource.toString();
        String root = place.substring(0, place.length() - file(type).length());
        return root.startsWith("jar:") ? root.substring("jar:".length(), root.length() - "!/".length()) : root;
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
