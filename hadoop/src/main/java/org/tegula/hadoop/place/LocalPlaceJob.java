package org.tegula.hadoop.place;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.split.JobSplit;
import org.tegula.hadoop.cache.CachedOutput;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.live.Promises;
import org.tegula.hadoop.run.Run;
import org.tegula.hadoop.task.Attempt;
import org.tegula.hadoop.task.AttemptHandle;
import org.tegula.hadoop.task.JobResources;
import org.tegula.hadoop.task.MapAttempt;
import org.tegula.hadoop.task.ReduceAttempt;
import org.tegula.hadoop.task.Shuffled;

/** One job at a place of this JVM. */
final class LocalPlaceJob implements PlaceJob {
    private final int place;
    private final int places;
    private final JobResources job;
    private final Incoming incoming;
    private final List<CachedOutput> written = new ArrayList<>();

    /**
     * @param job what its attempts share at this place
     * @param sources of what maps of other places have left for this one
     */
    LocalPlaceJob(int place, int places, JobResources job, Incoming.Sources sources) {
        this.place = place;
        this.places = places;
        this.job = job;
        this.incoming = new Incoming(place, places, job, sources);
    }

    @Override
    public Attempt map(TaskAttemptID id, int slot, JobSplit.TaskSplitIndex split) {
        return MapAttempt.of(job, id, slot, split);
    }

    @Override
    public Attempt reduce(TaskAttemptID id, int home, List<MapOutput> outputs, int maps) {
        Shuffled shuffled;
        if (places == 1) {
            List<Run> runs =
                    outputs.stream().flatMap(each -> each.runs().stream()).toList();
            shuffled = (partition, reporter) -> runs;
        } else {
            shuffled = (partition, reporter) -> incoming.runs(outputs, partition, reporter);
        }
        return ReduceAttempt.of(job, id, home, shuffled, maps);
    }

    @Override
    public MapOutput output(AttemptHandle attempt) {
        List<Run> runs = ((MapAttempt) attempt).output();
        return places == 1
                ? new MapOutput(place, attempt.id().toString(), List.of(), runs)
                : MapOutput.of(place, attempt.id().toString(), runs, job.conf().getNumReduceTasks());
    }

    /** The stream of pairs for another place. */
    RunEncoder encoder(List<Run> runs, int[] partitions, boolean objects) throws IOException {
        LiveValues live = Promises.passObjects(job.conf()) ? job.live() : null;
        return new RunEncoder(runs, partitions, live, objects, job.conf());
    }

    @Override
    public synchronized void accept(AttemptHandle attempt) {
        written.addAll(((Attempt) attempt).copies());
    }

    @Override
    public void discard(AttemptHandle attempt) {
        if (attempt instanceof MapAttempt map) {
            map.output().forEach(Run::release);
        }
        ((Attempt) attempt).abandonCopies();
    }

    @Override
    public synchronized Begun keepWritten() throws InterruptedException {
        for (CachedOutput output : written) {
            output.keep();
        }
        return Begun.DONE;
    }

    @Override
    public synchronized Begun end() {
        incoming.close();
        job.live().release();
        written.forEach(CachedOutput::abandon);
        written.clear();
        return Begun.DONE;
    }
}
