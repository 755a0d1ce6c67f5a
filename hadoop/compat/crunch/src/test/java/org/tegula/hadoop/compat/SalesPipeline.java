package org.tegula.hadoop.compat;

import org.apache.crunch.DoFn;
import org.apache.crunch.Emitter;
import org.apache.crunch.FilterFn;
import org.apache.crunch.MapFn;
import org.apache.crunch.PCollection;
import org.apache.crunch.PTable;
import org.apache.crunch.Pair;
import org.apache.crunch.Pipeline;
import org.apache.crunch.fn.Aggregators;
import org.apache.crunch.impl.mr.MRPipeline;
import org.apache.crunch.io.From;
import org.apache.crunch.io.To;
import org.apache.crunch.lib.Cogroup;
import org.apache.crunch.lib.Distinct;
import org.apache.crunch.lib.SecondarySort;
import org.apache.crunch.lib.Sort;
import org.apache.crunch.lib.join.DefaultJoinStrategy;
import org.apache.crunch.lib.join.JoinType;
import org.apache.crunch.types.avro.Avros;
import org.apache.crunch.types.writable.Writables;
import org.apache.hadoop.conf.Configuration;

/** Joins, groups, sorts and distinct lines, with Writables and with Avro: a pipeline that Crunch makes many jobs of. */
public final class SalesPipeline {
    private SalesPipeline() {}

    /** Runs it in the working folder. */
    public static void main(String[] arguments) {
        Pipeline pipeline = new MRPipeline(SalesPipeline.class, "sales", new Configuration());
        PCollection<String> sales = pipeline.read(From.textFile("in/sales"));
        PTable<String, String> towns =
                pipeline.read(From.textFile("in/shops")).parallelDo(new Fields(0, 1), pairOfStrings());
        PTable<String, String> itemByShop = sales.parallelDo(new Fields(1, 0), pairOfStrings());

        PTable<String, Pair<String, String>> joined =
                new DefaultJoinStrategy<String, String, String>().join(itemByShop, towns, JoinType.LEFT_OUTER_JOIN);
        PTable<String, Long> counts = joined.parallelDo(
                        new MapFn<Pair<String, Pair<String, String>>, Pair<String, Long>>() {
                            @Override
                            public Pair<String, Long> map(Pair<String, Pair<String, String>> row) {
                                return Pair.of(
                                        row.second().second() + " "
                                                + row.second().first(),
                                        1L);
                            }
                        },
                        Writables.tableOf(Writables.strings(), Writables.longs()))
                .groupByKey(2)
                .combineValues(Aggregators.SUM_LONGS());
        counts.write(To.textFile("out/counts"));
        Sort.sortPairs(
                        counts.parallelDo(new Swap(), Writables.pairs(Writables.longs(), Writables.strings())),
                        Sort.ColumnOrder.by(1, Sort.Order.DESCENDING),
                        Sort.ColumnOrder.by(2, Sort.Order.ASCENDING))
                .write(To.textFile("out/ranked"));

        PCollection<String> often = counts.filter(new FilterFn<Pair<String, Long>>() {
                    @Override
                    public boolean accept(Pair<String, Long> row) {
                        return row.second() > 50;
                    }
                })
                .keys();
        Distinct.distinct(often).write(To.textFile("out/often"));

        PTable<String, Pair<Long, String>> bySize = sales.parallelDo(
                new MapFn<String, Pair<String, Pair<Long, String>>>() {
                    @Override
                    public Pair<String, Pair<Long, String>> map(String line) {
                        String[] fields = line.split("\t");
                        return Pair.of(fields[1], Pair.of(Long.valueOf(fields[2]), fields[0]));
                    }
                },
                Avros.tableOf(Avros.strings(), Avros.pairs(Avros.longs(), Avros.strings())));
        PTable<String, String> dearest =
                SecondarySort.sortAndApply(bySize, new Last(), Avros.tableOf(Avros.strings(), Avros.strings()), 2);
        Cogroup.cogroup(dearest, bySize.count().parallelDo(new ByKey(), Avros.tableOf(Avros.strings(), Avros.longs())))
                .parallelDo(
                        new MapFn<
                                Pair<String, Pair<java.util.Collection<String>, java.util.Collection<Long>>>,
                                String>() {
                            @Override
                            public String map(
                                    Pair<String, Pair<java.util.Collection<String>, java.util.Collection<Long>>> row) {
                                return row.first() + " " + row.second().first() + " "
                                        + row.second().second().size();
                            }
                        },
                        Avros.strings())
                .write(To.textFile("out/dearest"));

        System.exit(pipeline.done().succeeded() ? 0 : 1);
    }

    private static org.apache.crunch.types.PTableType<String, String> pairOfStrings() {
        return Writables.tableOf(Writables.strings(), Writables.strings());
    }

    /** Two fields of a line. */
    private static final class Fields extends MapFn<String, Pair<String, String>> {
        private final int left;
        private final int right;

        Fields(int left, int right) {
            this.left = left;
            this.right = right;
        }

        @Override
        public Pair<String, String> map(String line) {
            String[] fields = line.split("\t");
            return Pair.of(fields[left], fields[right]);
        }
    }

    private static final class Swap extends MapFn<Pair<String, Long>, Pair<Long, String>> {
        @Override
        public Pair<Long, String> map(Pair<String, Long> row) {
            return Pair.of(row.second(), row.first());
        }
    }

    private static final class ByKey extends MapFn<Pair<Pair<String, Pair<Long, String>>, Long>, Pair<String, Long>> {
        @Override
        public Pair<String, Long> map(Pair<Pair<String, Pair<Long, String>>, Long> row) {
            return Pair.of(row.first().first(), row.second());
        }
    }

    /** The last of some sorted rows. */
    private static final class Last extends DoFn<Pair<String, Iterable<Pair<Long, String>>>, Pair<String, String>> {
        @Override
        public void process(Pair<String, Iterable<Pair<Long, String>>> rows, Emitter<Pair<String, String>> emitter) {
            String last = "";
            for (Pair<Long, String> row : rows.second()) {
                last = row.first() + " " + row.second();
            }
            emitter.emit(Pair.of(rows.first(), last));
        }
    }
}
