package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.apache.hadoop.security.UserGroupInformation;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.job.JobFolder;
import org.tegula.hadoop.job.JobScope;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.memory.MemoryBudget;
import org.tegula.hadoop.run.SpillFiles;
import org.tegula.hadoop.task.Attempt;
import org.tegula.hadoop.task.Commits;
import org.tegula.hadoop.task.JobResources;
import org.tegula.hadoop.task.SplitFile;

/** One job at the place of this JVM, whose driver is elsewhere: its files, its classes, its attempts and what they leave. */
final class HostedJob {
    private final int place;
    private final JobSpec spec;
    private final JobConf conf;
    private final UserGroupInformation user;
    private final SpillFiles disk;
    private final JobScope scope;
    private final LocalPlaceJob part;
    private final BlockNews news;
    private final Map<String, Running> running = new ConcurrentHashMap<>();
    private final Map<String, Attempt> ended = new ConcurrentHashMap<>();
    private final Map<String, MapOutput> outputs = new ConcurrentHashMap<>();
    private final Set<String> stopped = ConcurrentHashMap.newKeySet();
    /** Where the data of each place are; known after the maps. */
    private volatile List<String> addresses;

    private volatile List<MapOutput> shuffled;
    private volatile int maps;

    /** An attempt, and the thread that it runs in. */
    record Running(Attempt attempt, Thread thread) {}

    /** Begins a job: its files are copied, its classes are found. */
    HostedJob(Hosting hosting, JobConf site, JobSpec spec, DataClient peers, BlockNews news, Commits commits)
            throws IOException, InterruptedException {
        this.place = hosting.place();
        this.spec = spec;
        this.news = news;
        conf = spec.settings().over(site);
        conf.setCredentials(spec.credentials());
        String[] folders = Arrays.stream(conf.getTrimmedStrings(MRConfig.LOCAL_DIR))
                .map(each -> each + "/" + hosting.folder())
                .toArray(String[]::new);
        conf.setStrings(MRConfig.LOCAL_DIR, folders);
        conf.setBooleanIfUnset(Settings.CLASSES_APART, true);
        conf.setClassLoader(HostedJob.class.getClassLoader());
        user = Message.user(spec.user());
        user.addCredentials(conf.getCredentials());
        disk = new SpillFiles(conf, spec.id());
        scope = user.doAs((PrivilegedExceptionAction<JobScope>) () -> {
            FileSystem.get(conf).setWorkingDirectory(conf.getWorkingDirectory());
            Set<Path> own = Set.of(Path.of(System.getProperty("user.dir")));
            return JobScope.open(conf, spec.id(), own, HostedJob.class.getClassLoader(), () -> false);
        });
        conf.setClassLoader(scope.classes());
        MemoryBudget memory = hosting.memory();
        JobResources resources = new JobResources(
                conf,
                memory,
                disk,
                PairCache.shared(conf),
                new LiveValues(memory),
                Math.min(spec.bufferBytes(), hosting.mostBufferBytes()),
                new SplitFile(new JobFolder(spec.folder()).splitFile(), spec.splits()),
                hosting.spare(),
                commits);
        part = new LocalPlaceJob(
                place,
                spec.places(),
                resources,
                (output, partitions, objects) ->
                        peers.open(addresses.get(output.place()), spec.id(), output, partitions, objects));
    }

    Map<String, Running> running() {
        return running;
    }

    /** Takes the output of all maps, of which this place has its own, and where that of the others is. */
    void shuffled(Message in) throws IOException {
        List<String> peers = new ArrayList<>();
        for (int left = in.count(1); left > 0; left--) {
            peers.add(in.text());
        }
        addresses = peers;
        maps = in.readInt();
        List<MapOutput> all = new ArrayList<>();
        for (int left = in.count(1); left > 0; left--) {
            MapOutput each = MapOutput.read(in);
            if (each.place() < 0 || each.place() >= peers.size()) {
                throw new IOException(each.attempt() + " has run at no place: " + each.place());
            }
            all.add(each.place() == place ? outputs.get(each.attempt()) : each);
        }
        shuffled = all;
    }

    /** Runs an attempt of a map task in this thread. */
    Body map(Message in) throws Exception {
        TaskAttemptID id = in.attempt();
        int slot = in.readInt();
        JobSplit.TaskSplitIndex split = in.split();
        Attempt attempt = part.map(id, slot, split);
        run(attempt, slot);
        MapOutput output = part.output(attempt);
        outputs.put(id.toString(), output);
        return out -> {
            writeEnd(attempt, out);
            output.write(out);
        };
    }

    /** Runs an attempt of a reduce task in this thread. */
    Body reduce(Message in) throws Exception {
        TaskAttemptID id = in.attempt();
        int home = in.readInt();
        Attempt attempt = part.reduce(id, home, shuffled, maps);
        run(attempt, home);
        return out -> writeEnd(attempt, out);
    }

    private void writeEnd(Attempt attempt, DataOutput out) throws IOException {
        news.write(out);
        AttemptFacts.of(attempt).write(out);
        out.writeBoolean(attempt.leavesCommit());
    }

    private void run(Attempt attempt, int slot) throws Exception {
        String name = attempt.id().toString();
        Thread thread = Thread.currentThread();
        String threadName = thread.getName();
        thread.setName(name + " in slot " + slot);
        thread.setContextClassLoader(scope.classes());
        running.put(name, new Running(attempt, thread));
        try {
            if (stopped.contains(name)) {
                throw new InterruptedException("The attempt was stopped before it began");
            }
            user.doAs((PrivilegedExceptionAction<Void>) () -> {
                attempt.run();
                return null;
            });
            ended.put(name, attempt);
        } catch (UndeclaredThrowableException e) {
            part.discard(attempt);
            throw e.getCause() instanceof Exception cause ? cause : e;
        } catch (Throwable e) {
            part.discard(attempt);
            throw e;
        } finally {
            running.remove(name);
            thread.setContextClassLoader(HostedJob.class.getClassLoader());
            thread.setName(threadName);
            Thread.interrupted();
        }
    }

    void stop(String attempt) {
        stopped.add(attempt);
        Running found = running.get(attempt);
        if (found != null) {
            found.attempt.stop();
            found.thread.interrupt();
        }
    }

    void discard(String attempt) {
        Attempt found = ended.remove(attempt);
        if (found != null) {
            outputs.remove(attempt);
            part.discard(found);
        }
    }

    /** Keeps the pairs that some attempts have written. */
    Body keep(Message in) throws IOException, InterruptedException {
        for (int left = in.count(Short.BYTES); left > 0; left--) {
            part.accept(ended.get(in.readUTF()));
        }
        user.doAs((PrivilegedExceptionAction<Void>) () -> {
            part.keepWritten().await();
            return null;
        });
        return news::write;
    }

    /** The stream of a map's pairs for another place. */
    RunEncoder encoder(String attempt, int[] partitions, boolean objects) throws IOException {
        MapOutput output = outputs.get(attempt);
        if (output == null) {
            throw new IOException("This place has no output of " + attempt);
        }
        return part.encoder(output.runs(), partitions, objects);
    }

    /** Gives up everything of the job. */
    void end() throws IOException {
        running.keySet().forEach(this::stop);
        outputs.values().forEach(MapOutput::release);
        part.end();
        try {
            scope.close();
            scope.forgetClasses();
            disk.delete();
            FileSystem.closeAllForUGI(user);
        } finally {
            for (String each : conf.getTrimmedStrings(MRConfig.LOCAL_DIR)) {
                // Folders of several jobs may be in it: only an empty one goes.
                java.io.File folder = new java.io.File(
                        new org.apache.hadoop.fs.Path(each).toUri().getPath());
                String[] left = folder.list();
                if (left != null && left.length == 0) {
                    FileUtil.fullyDelete(folder);
                }
            }
        }
    }
}
