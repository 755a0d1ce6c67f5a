package org.tegula.hadoop.place;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.task.AttemptHandle;

/** One job at a place in another JVM, as the driver sees it. The place hears of the job when the first task comes. */
final class RemotePlaceJob implements PlaceJob {
    private static final Logger LOG = LoggerFactory.getLogger(RemotePlaceJob.class);
    private static final long END_SECONDS = 10;

    private final RemotePlace place;
    private final PlacedJob job;
    private final Map<String, RemoteAttempt> running = new ConcurrentHashMap<>();
    private final Set<String> accepted = ConcurrentHashMap.newKeySet();
    private List<MapOutput> shuffled;
    private int maps;
    /** Where the job has begun; null before. */
    private Calls calls;

    private boolean isShuffled;
    private boolean isEnded;
    private volatile boolean isLost;
    private String folder;

    RemotePlaceJob(RemotePlace place, PlacedJob job) {
        this.place = place;
        this.job = job;
    }

    @Override
    public AttemptHandle map(TaskAttemptID id, int slot, JobSplit.TaskSplitIndex split) {
        return new RemoteAttempt(this, id, Op.MAP, out -> {
            out.writeUTF(job.id().toString());
            out.writeUTF(id.toString());
            out.writeInt(slot);
            split.write(out);
        });
    }

    @Override
    public synchronized AttemptHandle reduce(TaskAttemptID id, int home, List<MapOutput> outputs, int mapTasks) {
        shuffled = outputs;
        maps = mapTasks;
        return new RemoteAttempt(this, id, Op.REDUCE, out -> {
            out.writeUTF(job.id().toString());
            out.writeUTF(id.toString());
            out.writeInt(home);
        });
    }

    /**
     * Tells the place what it must know of the job, once. A job that has told a place to begin waits until it has, also if the
     * attempt is stopped meanwhile: else it could begin there after its end, in place of its next run.
     */
    synchronized void prepare(boolean ofReduce) throws Exception {
        if (isEnded) {
            throw new InterruptedException("The job has ended");
        }
        if (calls == null) {
            JobSpec spec = place.spec(job);
            Calls now = place.await();
            begin(now, spec);
            calls = now;
            folder = place.folder();
            place.begun(this, now);
        }
        if (ofReduce && !isShuffled) {
            List<String> peers = place.peers(); // with map output of the job, they cannot be replaced without its loss
            call(calls, Op.SHUFFLED, out -> {
                out.writeUTF(job.id().toString());
                out.writeInt(peers.size());
                for (String each : peers) {
                    Text.writeString(out, each);
                }
                out.writeInt(maps);
                out.writeInt(shuffled.size());
                for (MapOutput each : shuffled) {
                    each.write(out);
                }
            });
            isShuffled = true;
        }
    }

    private void begin(Calls now, JobSpec spec) throws Exception {
        try {
            now.send(Op.BEGIN, spec::write).join();
        } catch (CompletionException e) {
            throw fault(e.getCause());
        }
    }

    private Message call(Calls to, Op op, Body body) throws Exception {
        try {
            return to.send(op, body).get();
        } catch (ExecutionException e) {
            throw fault(e.getCause());
        }
    }

    /** What a call of the place has failed with: what was thrown there, or the loss of the place. */
    Exception fault(Throwable failed) {
        return failed instanceof RemoteFault fault ? fault.at(place.name()) : loss(failed);
    }

    private PlaceLost loss(Throwable why) {
        return new PlaceLost(place.name(), why.getMessage());
    }

    String placeName() {
        return place.name();
    }

    CompletableFuture<Message> send(RemoteAttempt attempt, Op op, Body task) {
        running.put(attempt.id().toString(), attempt);
        return begun().send(op, task)
                .whenComplete((answer, fault) -> running.remove(attempt.id().toString()));
    }

    private synchronized Calls begun() {
        return calls;
    }

    RemoteAttempt running(String attempt) {
        return running.get(attempt);
    }

    void takeNews(Message answer) throws IOException {
        BlockNews.read(answer, job.resources().cache());
    }

    /** Whether an attempt that is about to commit, or whose files are, is still waited for. */
    boolean mayCommit(RemoteAttempt attempt) throws IOException {
        return job.resources().commits().mayCommit(attempt.id());
    }

    /** The job's configuration, in the JVM of the driver. */
    JobConf conf() {
        return job.resources().conf();
    }

    /** Called under the lock of a stage: does not wait. */
    void stop(RemoteAttempt attempt) {
        if (running.containsKey(attempt.id().toString())) {
            tell(Op.STOP, attempt);
        }
    }

    private void tell(Op op, AttemptHandle attempt) {
        place.later(() -> {
            Calls now = begun();
            if (now != null) {
                now.send(op, out -> {
                    out.writeUTF(job.id().toString());
                    out.writeUTF(attempt.id().toString());
                });
            }
        });
    }

    @Override
    public MapOutput output(AttemptHandle attempt) {
        return ((RemoteAttempt) attempt).output();
    }

    @Override
    public void accept(AttemptHandle attempt) {
        accepted.add(attempt.id().toString());
    }

    @Override
    public void discard(AttemptHandle attempt) {
        tell(Op.DISCARD, attempt);
    }

    /** What a lost place has not kept is read from its files again. */
    @Override
    public Begun keepWritten() {
        Calls now = begun();
        if (now == null) {
            return Begun.DONE;
        }
        List<String> all = new ArrayList<>(accepted);
        CompletableFuture<Message> answer = now.send(Op.KEEP, out -> {
            out.writeUTF(job.id().toString());
            out.writeInt(all.size());
            for (String each : all) {
                out.writeUTF(each);
            }
        });
        return () -> {
            try {
                takeNews(answer.get());
            } catch (ExecutionException | IOException e) {
                LOG.warn("{}: {} keeps none of its outputs in memory", job.id(), place.name(), e);
            }
        };
    }

    /** Tells the job, if a task of it has begun at the place. */
    void lost(PlaceLost loss) {
        isLost = true;
        job.lost().accept(loss);
    }

    /** Deletes the files that a lost place has left, if they are on this machine. */
    private synchronized void deleteSpills() {
        for (String each : job.resources().conf().getTrimmedStrings(MRConfig.LOCAL_DIR)) {
            Path left = new Path(each, folder);
            FileUtil.fullyDelete(new File(left.toUri().getPath()));
        }
    }

    /** Nothing begins at the place any more. */
    private synchronized Calls ended() {
        isEnded = true;
        return calls;
    }

    @Override
    public Begun end() {
        Calls now = ended();
        if (now == null) {
            return Begun.DONE;
        }
        place.ended(this);
        if (isLost) {
            deleteSpills();
            return Begun.DONE;
        }
        CompletableFuture<Message> answer =
                now.send(Op.END, out -> out.writeUTF(job.id().toString()));
        return () -> {
            try {
                answer.get(END_SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException | TimeoutException e) {
                LOG.debug("{} does not say that {} has ended there", place.name(), job.id(), e);
            }
        };
    }
}
