package org.tegula.hadoop.job;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobSubmissionFiles;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.apache.hadoop.mapreduce.split.SplitMetaInfoReader;
import org.tegula.hadoop.conf.JobWideConf;

/** The staging folder of a job: configuration, splits, jars, as Hadoop's client has put them there. */
public final class JobFolder {
    /** The settings of the whole JVM; reading them takes longer than a tiny job. */
    private static final Configuration SITE = new Configuration();

    private final Path path;

    /**
     * A folder that exists.
     *
     * @param path where it is
     */
    public JobFolder(String path) {
        this.path = new Path(path);
    }

    /**
     * Where it is.
     *
     * @return the path as the client has given it
     */
    public String path() {
        return path.toString();
    }

    /**
     * The job's configuration, with the class loader of this thread.
     *
     * @return a configuration of its own
     * @throws IOException if the file cannot be read
     */
    public JobConf readConf() throws IOException {
        Path file = confFile();
        JobConf conf = new JobWideConf();
        conf.addResource(file.getFileSystem(SITE).open(file), file.toString());
        conf.size();
        return conf;
    }

    /**
     * Copies the job's configuration, which goes with the folder.
     *
     * @param target the file to make
     * @param conf that knows the file system
     * @throws IOException if the file cannot be copied
     */
    public void copyConf(java.nio.file.Path target, Configuration conf) throws IOException {
        Path file = confFile();
        try (InputStream in = file.getFileSystem(conf).open(file)) {
            Files.copy(in, target);
        }
    }

    Path confFile() {
        return JobSubmissionFiles.getJobConfPath(path);
    }

    /**
     * The file of the input splits.
     *
     * @return its path
     */
    public Path splitFile() {
        return JobSubmissionFiles.getJobSplitFile(path);
    }

    JobSplit.TaskSplitMetaInfo[] readSplits(JobID job, Configuration conf) throws IOException {
        return SplitMetaInfoReader.readSplitMetaInfo(job, path.getFileSystem(conf), conf, path);
    }

    void delete(Configuration conf) throws IOException {
        path.getFileSystem(conf).delete(path, true);
    }
}
