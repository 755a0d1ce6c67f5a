package org.tegula.hadoop.spark;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.tegula.hadoop.place.Invitation;
import org.tegula.hadoop.place.PlaceMain;
import scala.Function1;
import scala.collection.Iterator;
import scala.reflect.ClassTag;

/** The one stage of the Spark job: each of its tasks is a place. */
final class PlaceTasks {
    private PlaceTasks() {}

    /** A function of Scala that Spark can send. */
    private interface Sent<A, B> extends Function1<A, B>, Serializable {}

    /** Returns when all places have ended. */
    static void run(JavaSparkContext spark, List<Invitation> invitations) {
        ClassTag<Invitation> type = ClassTag.apply(Invitation.class);
        Sent<Iterator<Invitation>, Iterator<Invitation>> host = PlaceTasks::host;
        spark.parallelize(invitations, invitations.size())
                .rdd()
                .barrier()
                .mapPartitions(host, false, type)
                .count();
    }

    private static Iterator<Invitation> host(Iterator<Invitation> invitations) {
        while (invitations.hasNext()) {
            try {
                PlaceMain.host(invitations.next());
            } catch (Exception e) {
                throw new IllegalStateException("A place has ended", e);
            }
        }
        return invitations;
    }
}
