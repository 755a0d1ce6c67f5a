package org.tegula.hadoop.client;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.ipc.ProtocolSignature;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Cluster.JobTrackerStatus;
import org.apache.hadoop.mapreduce.ClusterMetrics;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobPriority;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.QueueAclsInfo;
import org.apache.hadoop.mapreduce.QueueInfo;
import org.apache.hadoop.mapreduce.QueueState;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskTrackerInfo;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.TypeConverter;
import org.apache.hadoop.mapreduce.protocol.ClientProtocol;
import org.apache.hadoop.mapreduce.security.token.delegation.DelegationTokenIdentifier;
import org.apache.hadoop.mapreduce.server.jobtracker.JTConfig;
import org.apache.hadoop.mapreduce.v2.LogParams;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.security.token.Token;
import org.tegula.hadoop.conf.JobWideConf;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.job.HistoryFolder;
import org.tegula.hadoop.job.Job;
import org.tegula.hadoop.job.JobFacts;
import org.tegula.hadoop.job.JobFolder;

/**
 * The cluster that Hadoop's client talks to: an engine in this JVM, and the histories of jobs that the engine does not know. It
 * has one queue. A server has its own.
 */
public class EngineClient implements ClientProtocol {
    private static final String QUEUE = "default";
    private static final String MOST = JobPriority.VERY_HIGH.name();

    private final Engine engine;
    private final Configuration conf;
    private final FileSystem files;

    /**
     * A client's view of an engine.
     *
     * @param engine that runs its jobs
     * @param conf names the staging folders
     */
    public EngineClient(Engine engine, Configuration conf) {
        this.engine = engine;
        this.conf = conf;
        try {
            this.files = FileSystem.getLocal(conf);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Override
    public JobID getNewJobID() {
        return engine.newJobId();
    }

    @Override
    public JobStatus submitJob(JobID id, String folder, Credentials credentials) throws IOException {
        JobFolder files = new JobFolder(folder);
        JobConf settings = isOf(folder) ? copyOfConf() : files.readConf();
        settings.setCredentials(credentials);
        return engine.submit(downgrade(id), files, settings, () -> {}).status();
    }

    /** As they are now, with the class loader of this thread. */
    private JobConf copyOfConf() {
        JobConf copy = new JobWideConf((JobConf) conf);
        copy.setClassLoader(Thread.currentThread().getContextClassLoader());
        return copy;
    }

    /**
     * Returns whether this client's settings are those that Hadoop has just written for the job: a job of {@code mapreduce}
     * makes a client for itself. Reading them again takes longer than a tiny job.
     */
    private boolean isOf(String folder) {
        return conf.getClass() == JobConf.class && folder.equals(conf.get(MRJobConfig.MAPREDUCE_JOB_DIR));
    }

    @Override
    public void killJob(JobID id) throws IOException {
        known(id).kill();
    }

    @Override
    public void setJobPriority(JobID id, String priority) throws IOException {
        known(id).setPriority(priority(priority));
    }

    /** Hadoop's own client sends the number of a priority. */
    private static JobPriority priority(String asked) throws IOException {
        try {
            return TypeConverter.fromYarnApplicationPriority(
                    Math.min(Integer.parseInt(asked), TypeConverter.toYarnApplicationPriority(MOST)));
        } catch (NumberFormatException e) {
            // then it is a name
        }
        try {
            return JobPriority.valueOf(asked);
        } catch (IllegalArgumentException e) {
            throw new IOException(
                    "There is no priority " + asked + ": name one of " + List.of(JobPriority.values())
                            + ", or a number up to 5",
                    e);
        }
    }

    @Override
    public boolean killTask(TaskAttemptID attempt, boolean shouldFail) throws IOException {
        return known(attempt.getJobID()).end(org.apache.hadoop.mapred.TaskAttemptID.downgrade(attempt), shouldFail);
    }

    /** The engine's names are of the older class, which equals no other. */
    private static org.apache.hadoop.mapred.JobID downgrade(JobID id) {
        return org.apache.hadoop.mapred.JobID.downgrade(id);
    }

    private Job known(JobID id) throws IOException {
        Job job = engine.job(downgrade(id));
        if (job == null) {
            throw unknown(id);
        }
        return job;
    }

    private static IOException unknown(JobID id) {
        return new IOException("There is no job " + id + ", or it ended long ago");
    }

    private Optional<JobFacts> find(JobID id) throws IOException {
        Job job = engine.job(downgrade(id));
        if (job != null) {
            return Optional.of(job);
        }
        Optional<HistoryFolder> histories = HistoryFolder.of(conf);
        return histories.isPresent() ? histories.get().job(id) : Optional.empty();
    }

    private JobFacts facts(JobID id) throws IOException {
        return find(id).orElseThrow(() -> unknown(id));
    }

    @Override
    public JobStatus getJobStatus(JobID id) throws IOException {
        return find(id).map(JobFacts::status).orElse(null);
    }

    @Override
    public Counters getJobCounters(JobID id) throws IOException {
        return facts(id).counters();
    }

    @Override
    public TaskReport[] getTaskReports(JobID id, TaskType type) throws IOException {
        return facts(id).reports(type);
    }

    @Override
    public TaskCompletionEvent[] getTaskCompletionEvents(JobID id, int first, int most) throws IOException {
        return facts(id).events(first, most);
    }

    @Override
    public String[] getTaskDiagnostics(TaskAttemptID attempt) throws IOException {
        return facts(attempt.getJobID()).diagnostics(org.apache.hadoop.mapred.TaskID.downgrade(attempt.getTaskID()));
    }

    @Override
    public JobStatus[] getAllJobs() throws IOException {
        Map<JobID, JobStatus> all = new LinkedHashMap<>();
        Optional<HistoryFolder> histories = HistoryFolder.of(conf);
        if (histories.isPresent()) {
            histories.get().statuses().forEach(each -> all.put(downgrade(each.getJobID()), each));
        }
        for (JobStatus each : statuses()) {
            all.remove(downgrade(each.getJobID())); // so that it comes last
            all.put(downgrade(each.getJobID()), each);
        }
        return all.values().toArray(JobStatus[]::new);
    }

    private JobStatus[] statuses() {
        return engine.jobs().stream().map(Job::status).toArray(JobStatus[]::new);
    }

    @Override
    public String getFilesystemName() {
        return files.getUri().toString();
    }

    @Override
    public String getSystemDir() {
        return files.makeQualified(folder(JTConfig.JT_SYSTEM_DIR, "system")).toString();
    }

    @Override
    public String getStagingAreaDir() throws IOException {
        Path root = folder(JTConfig.JT_STAGING_AREA_ROOT, "staging");
        String user = UserGroupInformation.getCurrentUser().getShortUserName();
        return files.makeQualified(new Path(root, user + "/.staging")).toString();
    }

    private Path folder(String property, String name) {
        return new Path(conf.get(property, conf.get("hadoop.tmp.dir") + "/mapred/" + name));
    }

    @Override
    public String getJobHistoryDir() {
        return HistoryFolder.of(conf).map(HistoryFolder::name).orElse(null);
    }

    @Override
    public ClusterMetrics getClusterMetrics() {
        List<Job> jobs = engine.jobs();
        int running = (int) jobs.stream().filter(job -> !job.hasEnded()).count();
        int used = engine.slots().used();
        int slots = engine.slots().count();
        return new ClusterMetrics(used, used, used, used, 0, 0, slots, slots, jobs.size(), running > 0 ? 1 : 0, 0, 0);
    }

    @Override
    public JobTrackerStatus getJobTrackerStatus() {
        return JobTrackerStatus.RUNNING;
    }

    @Override
    public long getTaskTrackerExpiryInterval() {
        return 0;
    }

    @Override
    public TaskTrackerInfo[] getActiveTrackers() {
        return new TaskTrackerInfo[] {new TaskTrackerInfo("localhost")};
    }

    @Override
    public TaskTrackerInfo[] getBlacklistedTrackers() {
        return new TaskTrackerInfo[0];
    }

    @Override
    public QueueInfo[] getQueues() {
        return new QueueInfo[] {getQueue(QUEUE)};
    }

    @Override
    public QueueInfo[] getRootQueues() {
        return getQueues();
    }

    @Override
    public QueueInfo[] getChildQueues(String queue) {
        return new QueueInfo[0];
    }

    @Override
    public QueueInfo getQueue(String queue) {
        if (!queue.equals(QUEUE)) {
            return null;
        }
        String load = engine.slots().used() + " of " + engine.slots().count() + " slots are in use";
        return new QueueInfo(QUEUE, load, QueueState.RUNNING, statuses());
    }

    @Override
    public QueueAclsInfo[] getQueueAclsForCurrentUser() {
        return new QueueAclsInfo[] {new QueueAclsInfo(QUEUE, new String[] {"SUBMIT_APPLICATIONS", "ADMINISTER_QUEUE"})};
    }

    @Override
    public AccessControlList getQueueAdmins(String queue) {
        return new AccessControlList("*");
    }

    @Override
    public Token<DelegationTokenIdentifier> getDelegationToken(Text renewer) {
        return null;
    }

    @Override
    public long renewDelegationToken(Token<DelegationTokenIdentifier> token) {
        return 0;
    }

    @Override
    public void cancelDelegationToken(Token<DelegationTokenIdentifier> token) {}

    @Override
    public LogParams getLogFileParams(JobID id, TaskAttemptID attempt) {
        throw new UnsupportedOperationException("Tasks run in this JVM and log where it logs");
    }

    @Override
    public long getProtocolVersion(String protocol, long clientVersion) {
        return versionID;
    }

    @Override
    public ProtocolSignature getProtocolSignature(String protocol, long clientVersion, int methods) throws IOException {
        return ProtocolSignature.getProtocolSignature(this, protocol, clientVersion, methods);
    }
}
