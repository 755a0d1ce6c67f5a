package org.tegula.hadoop.job;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.JsonEncoder;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TypeConverter;
import org.apache.hadoop.mapreduce.jobhistory.Event;
import org.apache.hadoop.mapreduce.jobhistory.HistoryEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser;
import org.apache.hadoop.mapreduce.util.MRJobConfUtil;
import org.apache.hadoop.mapreduce.v2.jobhistory.FileNameIndexUtils;
import org.apache.hadoop.mapreduce.v2.jobhistory.JHAdminConfig;
import org.apache.hadoop.mapreduce.v2.jobhistory.JobHistoryUtils;
import org.apache.hadoop.mapreduce.v2.jobhistory.JobIndexInfo;
import org.tegula.hadoop.Settings;

/**
 * The folder in which jobs leave their histories for Hadoop's own tools: for each a file of events and one of its settings,
 * under the names and in the form of Hadoop's own. Hadoop's writer of the form is open to its own package only.
 */
public final class HistoryFolder {
    private static final FsPermission FOR_ITS_USER = new FsPermission((short) 0700);

    private final String name;
    private final Configuration conf;

    private HistoryFolder(String name, Configuration conf) {
        this.name = name;
        this.conf = conf;
    }

    /**
     * The folder that is set; it need not exist.
     *
     * @param conf that names it, and knows its file system
     * @return nothing if none is set
     */
    public static Optional<HistoryFolder> of(Configuration conf) {
        String name = conf.getTrimmed(Settings.HISTORY_DIR, "");
        return name.isEmpty() ? Optional.empty() : Optional.of(new HistoryFolder(name, conf));
    }

    /**
     * Where it is.
     *
     * @return its name as it was set
     */
    public String name() {
        return name;
    }

    private Path path() throws IOException {
        try {
            return new Path(name);
        } catch (IllegalArgumentException e) {
            throw new IOException(name + " is no path: set " + Settings.HISTORY_DIR + " to a folder", e);
        }
    }

    /** Where the settings of a job are, whose history is there. */
    Path confFile(JobID job) throws IOException {
        return files().makeQualified(confName(job));
    }

    private Path confName(JobID job) throws IOException {
        return new Path(path(), JobHistoryUtils.getIntermediateConfFileName(TypeConverter.toYarn(job)));
    }

    private FileSystem files() throws IOException {
        return path().getFileSystem(conf);
    }

    /** Writes both files of a job, or none; returns that of events. Settings that Hadoop is told to redact are left out. */
    Path write(JobIndexInfo job, List<HistoryEvent> events) throws IOException {
        FileSystem files = files();
        Path path = path();
        if (!files.exists(path)) {
            FileSystem.mkdirs(files, path, FOR_ITS_USER); // settings may be confidential
        }
        int nameLimit = conf.getInt(JHAdminConfig.MR_HS_JOBNAME_LIMIT, JHAdminConfig.DEFAULT_MR_HS_JOBNAME_LIMIT);
        Path history = files.makeQualified(new Path(path, FileNameIndexUtils.getDoneFileName(job, nameLimit)));
        Path settings = confFile(TypeConverter.fromYarn(job.getJobId()));
        Configuration redacted = new Configuration(conf);
        MRJobConfUtil.redact(redacted);
        create(files, settings, redacted::writeXml);
        try {
            create(files, history, out -> write(events, out));
        } catch (Throwable e) {
            delete(files, settings, e);
            throw e;
        }
        return history;
    }

    /** Writes to a stream. */
    private interface Writing {
        void to(OutputStream out) throws IOException;
    }

    private static void create(FileSystem files, Path file, Writing writing) throws IOException {
        Path half = new Path(file.getParent(), "." + file.getName() + ".half");
        try {
            try (OutputStream out = files.create(half, true)) {
                writing.to(out);
            }
            if (!files.rename(half, file)) {
                throw new IOException(half + " cannot be renamed to " + file);
            }
        } catch (Throwable e) {
            delete(files, half, e);
            throw e;
        }
    }

    private static void delete(FileSystem files, Path file, Throwable because) {
        try {
            files.delete(file, false);
        } catch (Throwable e) {
            because.addSuppressed(e);
        }
    }

    /** A line that says which form it is, a line with the schema, and each event as JSON. */
    private static void write(List<HistoryEvent> events, OutputStream out) throws IOException {
        out.write(("Avro-Json\n" + Event.SCHEMA$ + "\n").getBytes(StandardCharsets.UTF_8));
        JsonEncoder json = EncoderFactory.get().jsonEncoder(Event.SCHEMA$, out);
        SpecificDatumWriter<Event> writer = new SpecificDatumWriter<>(Event.class);
        for (HistoryEvent each : events) {
            Event event = new Event();
            event.setType(each.getEventType());
            event.setEvent(each.getDatum());
            writer.write(event, json);
            json.flush();
            out.write('\n');
        }
    }

    /** A file of events, and the facts about the job in its name. */
    private record Named(Path file, JobIndexInfo job) {
        JobID id() {
            return TypeConverter.fromYarn(job.getJobId());
        }
    }

    private List<Named> named(FileSystem files, String start) throws IOException {
        List<Named> found = new ArrayList<>();
        FileStatus[] all;
        try {
            all = files.listStatus(
                    path(),
                    each -> each.getName().startsWith(start)
                            && each.getName().endsWith(JobHistoryUtils.JOB_HISTORY_FILE_EXTENSION));
        } catch (FileNotFoundException e) {
            return found; // no job has ended yet
        }
        for (FileStatus each : all) {
            try {
                found.add(new Named(
                        each.getPath(),
                        FileNameIndexUtils.getIndexInfo(each.getPath().getName())));
            } catch (IOException | RuntimeException e) {
                continue; // somebody else's file
            }
        }
        found.sort(Comparator.comparing(Named::id));
        return found;
    }

    /**
     * Returns the jobs whose histories are there, from the names of the files.
     *
     * @return the status of each, the oldest first
     * @throws IOException if the folder is there and cannot be read
     */
    public List<JobStatus> statuses() throws IOException {
        try (FileSystem files = FileSystem.newInstance(path().toUri(), conf)) {
            List<JobStatus> found = new ArrayList<>();
            for (Named each : named(files, "job_")) {
                found.add(PastJob.status(each.job, settings(files, each.id()), each.file));
            }
            return found;
        }
    }

    /**
     * A job whose history is there.
     *
     * @param id its name
     * @return nothing if there is none
     * @throws IOException if its history cannot be read
     */
    public Optional<JobFacts> job(JobID id) throws IOException {
        try (FileSystem files = FileSystem.newInstance(path().toUri(), conf)) {
            List<Named> found = named(files, id + "-");
            if (found.isEmpty()) {
                return Optional.empty();
            }
            Named job = found.get(found.size() - 1);
            try {
                JobHistoryParser parser = new JobHistoryParser(files, job.file);
                JobHistoryParser.JobInfo info = parser.parse();
                if (parser.getParseException() != null) {
                    throw parser.getParseException();
                }
                return Optional.of(PastJob.of(job.job, info, settings(files, id), job.file));
            } catch (IOException | RuntimeException e) { // Hadoop's parser throws both
                throw new IOException(job.file + " is no whole history: delete it", e);
            }
        }
    }

    private Path settings(FileSystem files, JobID id) throws IOException {
        return files.makeQualified(confName(id));
    }
}
