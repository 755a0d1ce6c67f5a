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
        Invitation first = invitations.get(0);
        String host = first.host();
        int port = first.port();
        String secret = first.secret();
        ClassTag<Integer> type = ClassTag.apply(Integer.class);
        Sent<Iterator<Integer>, Iterator<Integer>> place = numbers -> host(numbers, host, port, secret);
        spark.parallelize(invitations.stream().map(Invitation::number).toList(), invitations.size())
                .rdd()
                .barrier()
                .mapPartitions(place, false, type)
                .count();
    }

    private static Iterator<Integer> host(Iterator<Integer> numbers, String host, int port, String secret) {
        while (numbers.hasNext()) {
            try {
                PlaceMain.host(new Invitation(host, port, numbers.next(), secret));
            } catch (Exception e) {
                throw new IllegalStateException("A place has ended", e);
            }
        }
        return numbers;
    }
}
