package org.tegula.hadoop.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.ipc.Server;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.client.EngineClient;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.files.CachedLocalFileSystem;
import org.tegula.hadoop.job.Job;
import org.tegula.hadoop.job.JobFolder;

/** Answers calls that have come from other processes: jobs run as the user that calls, each with file systems of its own. */
final class ServedEngine extends EngineClient implements ServerProtocol {
    private static final Logger LOG = LoggerFactory.getLogger(ServedEngine.class);
    private static final String FILES = "fs.file.impl";

    private final Engine engine;
    private final Configuration conf;
    private final Path folder;
    private final Leases leases;
    private final ServedFiles files;
    private final ServerPage page;
    private final AtomicLong stagings = new AtomicLong();

    /** The folder is the server's own; jobs are staged there, and their configurations kept. */
    ServedEngine(Engine engine, Configuration conf, Path folder, Leases leases, ServerPage page) throws IOException {
        super(engine, conf);
        this.engine = engine;
        this.conf = conf;
        this.folder = folder;
        this.leases = leases;
        this.page = page;
        files = new ServedFiles(engine.cache(), conf);
        Files.createDirectories(folder.resolve("jobs"));
    }

    /** Hadoop wants the staging folder to be its user's own; on the disk all users of a server are the server's. */
    @Override
    public String getStagingAreaDir() throws IOException {
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        boolean isOwner = user.equals(System.getProperty("user.name"));
        String name = isOwner ? user : user + "-" + stagings.incrementAndGet();
        return folder.resolve("staging")
                .resolve(name)
                .resolve(".staging")
                .toUri()
                .toString();
    }

    @Override
    public String getSystemDir() {
        return folder.resolve("system").toUri().toString();
    }

    @Override
    public JobStatus submitJob(JobID id, String staged, Credentials credentials) throws IOException {
        UserGroupInformation user = UserGroupInformation.createRemoteUser(
                UserGroupInformation.getCurrentUser().getShortUserName());
        user.addCredentials(credentials);
        byte[] client = Server.getClientId();
        org.apache.hadoop.mapred.JobID name = org.apache.hadoop.mapred.JobID.downgrade(id);
        try {
            Job job = user.doAs((PrivilegedExceptionAction<Job>) () -> submit(name, staged, credentials, user, client));
            forgetFiles();
            return sent(job.status());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("The server is stopped", e);
        } catch (IOException | RuntimeException e) {
            closeFiles(user);
            throw e;
        }
    }

    private synchronized Job submit(
            org.apache.hadoop.mapred.JobID id,
            String staged,
            Credentials credentials,
            UserGroupInformation user,
            byte[] client)
            throws IOException {
        JobFolder submitted = new JobFolder(staged);
        JobConf job = submitted.readConf();
        job.setCredentials(credentials);
        submitted.copyConf(jobFile(id), job);
        job.set(MRConfig.LOCAL_DIR, conf.get(MRConfig.LOCAL_DIR));
        job.unset(Settings.SERVER_ADDRESS);
        job.setBooleanIfUnset(Settings.CLASSES_APART, true);
        if (conf.get(Settings.HISTORY_DIR) != null) {
            job.setIfUnset(Settings.HISTORY_DIR, conf.get(Settings.HISTORY_DIR));
        }
        keepInMemoryWhatTheClientSees(job);
        FileSystem.get(job).setWorkingDirectory(job.getWorkingDirectory());
        boolean detached = job.getBoolean(Settings.JOB_DETACHED, false);
        Job started = engine.submit(id, submitted, job, () -> closeFiles(user));
        if (!detached) {
            leases.add(client, started);
        }
        return started;
    }

    /** A client with plain files looks for outputs on the disk, and so does its next job when it is cut into splits. */
    private static void keepInMemoryWhatTheClientSees(JobConf job) {
        if (!job.get(FILES, "").equals(CachedLocalFileSystem.class.getName())) {
            job.set(Settings.TEMPORARY_PREFIX, Settings.TEMPORARY_PREFIX_NONE);
            job.unset(Settings.TEMPORARY_PATHS);
        }
    }

    private static void closeFiles(UserGroupInformation user) {
        try {
            FileSystem.closeAllForUGI(user);
        } catch (IOException e) {
            LOG.warn("The file systems of a job of {} could not be closed", user, e);
        }
    }

    private Path jobFile(JobID id) {
        return folder.resolve("jobs").resolve(id.toString());
    }

    /** Removes the configurations of jobs that the engine has forgotten. */
    private synchronized void forgetFiles() throws IOException {
        try (Stream<Path> all = Files.list(folder.resolve("jobs"))) {
            for (Path each : (Iterable<Path>) all::iterator) {
                JobID id = JobID.forName(each.getFileName().toString());
                if (engine.job(org.apache.hadoop.mapred.JobID.downgrade(id)) == null) {
                    Files.deleteIfExists(each);
                }
            }
        }
    }

    /** With the settings that are kept here, or those beside the history of a job that is not known any more. */
    private JobStatus sent(JobStatus status) throws IOException {
        Path kept = jobFile(status.getJobID());
        String file = Files.exists(kept) ? kept.toUri().toString() : status.getJobFile();
        return Sent.Status.of(status, file, page.url(status.getJobID()));
    }

    @Override
    public JobStatus getJobStatus(JobID id) throws IOException {
        JobStatus status = super.getJobStatus(id);
        return status == null ? null : sent(status);
    }

    @Override
    public JobStatus[] getAllJobs() throws IOException {
        List<JobStatus> all = new ArrayList<>();
        for (JobStatus each : super.getAllJobs()) {
            all.add(sent(each));
        }
        return all.toArray(JobStatus[]::new);
    }

    @Override
    public TaskReport[] getTaskReports(JobID id, TaskType type) throws IOException {
        return Sent.reports(super.getTaskReports(id, type));
    }

    @Override
    public TaskCompletionEvent[] getTaskCompletionEvents(JobID id, int first, int most) throws IOException {
        return Sent.events(super.getTaskCompletionEvents(id, first, most));
    }

    @Override
    public int stillHere() {
        return leases.running(Server.getClientId());
    }

    @Override
    public KeptFile[] kept() throws IOException {
        return files.kept();
    }

    @Override
    public void drop(String path) throws IOException {
        files.drop(path);
    }

    @Override
    public boolean holds(String path) throws IOException {
        return files.holds(path);
    }

    @Override
    public FileStatus heldStatus(String path) throws IOException {
        return files.status(path);
    }

    @Override
    public FileStatus[] listHeld(String path) throws IOException {
        return files.list(path);
    }

    @Override
    public boolean deleteHeld(String path, boolean recursive) throws IOException {
        return files.delete(path, recursive);
    }

    @Override
    public boolean renameHeld(String from, String to) throws IOException {
        return files.rename(from, to);
    }

    @Override
    public void writeHeld(String path) throws IOException {
        files.write(path);
    }
}
