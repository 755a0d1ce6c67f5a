package org.tegula.hadoop.job;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.task.JobContextImpl;
import org.apache.hadoop.mapreduce.v2.util.MRApps;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.LocalResource;
import org.apache.hadoop.yarn.api.records.LocalResourceType;
import org.apache.hadoop.yarn.util.FSDownload;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The distributed cache of one job on this machine: its files and archives are copied to a folder of the job's and linked from
 * the working directory, which all jobs of the JVM share. Jobs that link the same name run one after the other. If Hadoop's
 * paths of the job are relative to another folder, as on a server, they are linked there, too. Links and copies are removed
 * when the job ends.
 */
final class LocalCache implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalCache.class);

    private final JobConf conf;
    private final String job;
    private final List<URL> classPath = new ArrayList<>();
    private final Set<Path> folders;
    private final List<Path> names = new ArrayList<>();
    private final List<Path> links = new ArrayList<>();
    private final List<org.apache.hadoop.fs.Path> copies = new ArrayList<>();

    private LocalCache(JobConf conf, String job, Set<Path> folders) {
        this.conf = conf;
        this.job = job;
        this.folders = folders;
    }

    /** The working folders of this JVM and of Hadoop's paths of the job. */
    static Set<Path> workingFolders(JobConf conf) throws IOException {
        Set<Path> folders = new LinkedHashSet<>();
        folders.add(Path.of(System.getProperty("user.dir")));
        folders.add(
                Path.of(FileSystem.getLocal(conf).getWorkingDirectory().toUri().getPath()));
        return folders;
    }

    /** Copies the files that the job names, and sets the copies' paths in its configuration; waits for names of links. */
    static LocalCache fill(JobConf conf, String job, Set<Path> folders, BooleanSupplier stopped) throws IOException {
        LocalCache cache = new LocalCache(conf, job, folders);
        try {
            Map<String, LocalResource> resources = new LinkedHashMap<>();
            MRApps.setupDistributedCache(conf, resources);
            cache.takeNames(resources.keySet(), stopped);
            cache.fetch(resources);
        } catch (Exception e) {
            cache.close();
            throw e instanceof IOException io ? io : new IOException(e);
        }
        return cache;
    }

    private void takeNames(Set<String> wanted, BooleanSupplier stopped) throws InterruptedException {
        List<Path> all = new ArrayList<>();
        wanted.forEach(name -> folders.forEach(folder -> all.add(folder.resolve(name))));
        LinkNames.take(all, stopped);
        names.addAll(all);
    }

    /** Files that belong on the class path of the job. */
    List<URL> classPath() {
        return classPath;
    }

    private void fetch(Map<String, LocalResource> resources) throws Exception {
        Set<String> onClassPath = namedForClassPath();
        List<String> files = new ArrayList<>();
        List<String> archives = new ArrayList<>();
        int number = 0;
        for (Map.Entry<String, LocalResource> entry : resources.entrySet()) {
            LocalResource resource = entry.getValue();
            org.apache.hadoop.fs.Path copy = copy(resource, number++);
            String local = copy.toUri().getPath();
            (resource.getType() == LocalResourceType.ARCHIVE ? archives : files).add(copy.toString());
            for (Path folder : folders) {
                link(folder.resolve(entry.getKey()), Path.of(local));
            }
            if (onClassPath.contains(source(resource))) {
                classPath.add(new File(local).toURI().toURL());
            }
        }
        if (!archives.isEmpty()) {
            conf.set(MRJobConfig.CACHE_LOCALARCHIVES, String.join(",", archives));
        }
        if (!files.isEmpty()) {
            conf.set(MRJobConfig.CACHE_LOCALFILES, String.join(",", files));
        }
    }

    private static String source(LocalResource resource) throws URISyntaxException {
        return resource.getResource().toPath().toUri().getPath();
    }

    private Set<String> namedForClassPath() {
        Set<String> names = new LinkedHashSet<>();
        for (org.apache.hadoop.fs.Path[] paths : new org.apache.hadoop.fs.Path[][] {
            JobContextImpl.getArchiveClassPaths(conf), JobContextImpl.getFileClassPaths(conf)
        }) {
            for (org.apache.hadoop.fs.Path path : paths == null ? new org.apache.hadoop.fs.Path[0] : paths) {
                names.add(path.toUri().getPath());
            }
        }
        return names;
    }

    private org.apache.hadoop.fs.Path copy(LocalResource resource, int number) throws Exception {
        LocalDirAllocator folders = new LocalDirAllocator(MRConfig.LOCAL_DIR);
        org.apache.hadoop.fs.Path folder = folders.getLocalPathForWrite("tegula-cache/" + job + "/" + number, conf);
        copies.add(folder);
        FileContext local = FileContext.getLocalFSFileContext();
        return new FSDownload(local, UserGroupInformation.getCurrentUser(), conf, folder, resource).call();
    }

    private void link(Path link, Path target) throws IOException {
        if (Files.exists(link, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
            LOG.warn("{} stays as it is and does not lead to the cached file {}", link, target);
            return;
        }
        Files.createSymbolicLink(link, target);
        links.add(link);
    }

    @Override
    public void close() throws IOException {
        try {
            for (Path link : links) {
                Files.deleteIfExists(link);
            }
        } finally {
            LinkNames.giveBack(names);
            deleteCopies();
        }
    }

    /** Deletes the job's folder in each of the local folders over which its copies are spread. */
    private void deleteCopies() {
        Set<File> parents = new LinkedHashSet<>();
        copies.forEach(copy -> parents.add(new File(copy.getParent().toUri().getPath())));
        for (File each : parents) {
            if (!FileUtil.fullyDelete(each)) {
                LOG.warn("The cached files in {} could not be deleted and may be removed by hand", each);
            }
        }
    }
}
