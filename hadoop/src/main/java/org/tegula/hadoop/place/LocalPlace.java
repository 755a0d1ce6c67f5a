package org.tegula.hadoop.place;

import java.util.List;
import org.tegula.hadoop.engine.Slots;
import org.tegula.hadoop.live.LiveValues;
import org.tegula.hadoop.task.JobResources;

/**
 * A place in this JVM: all of it, or one of several. Several share the heap and its budgets; what goes from one to the other is
 * serialised as between JVMs.
 */
final class LocalPlace implements Place {
    private final int number;
    private final int places;
    private final Slots slots;

    LocalPlace(int number, int places, Slots slots) {
        this.number = number;
        this.places = places;
        this.slots = slots;
    }

    @Override
    public PlaceJob begin(PlacedJob job, List<PlaceJob> parts) {
        JobResources all = job.resources();
        JobResources own = new JobResources(
                all.conf(),
                all.memory(),
                all.disk(),
                all.cache(),
                new LiveValues(all.memory()),
                all.bufferBytes(),
                all.splits(),
                work -> slots.lend(number, job.id() + " helps", work),
                all.commits());
        return new LocalPlaceJob(
                number,
                places,
                own,
                (output, partitions, objects) -> new EncodedStream(
                        ((LocalPlaceJob) parts.get(output.place())).encoder(output.runs(), partitions, objects)));
    }

    @Override
    public String name() {
        return places == 1 ? "this JVM" : "place " + number + " of this JVM";
    }

    @Override
    public void close() {}
}
