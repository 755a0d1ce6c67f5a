package org.tegula.hadoop.fuzz;

import java.io.IOException;
import java.util.Iterator;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.Mapper;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reducer;
import org.apache.hadoop.mapred.Reporter;
import org.tegula.hadoop.api.ImmutableOutput;

/** Mappers and reducers of the {@code mapred} interface, for keys of any type and values that are texts. */
public final class OldPrograms {
    private OldPrograms() {}

    /** Emits some records twice, from objects that it changes afterwards. */
    public static class Reusing extends MapReduceBase implements Mapper<Writable, Text, Writable, Text> {
        private final Text value = new Text();

        @Override
        public void map(Writable key, Text in, OutputCollector<Writable, Text> out, Reporter reporter)
                throws IOException {
            value.set(in);
            out.collect(key, value);
            if (in.getLength() % 3 == 0) {
                value.append("+".getBytes(), 0, 1);
                out.collect(key, value);
            }
            value.clear();
        }
    }

    /** Emits the pairs that it is handed, some of them twice. */
    public static class Passing extends MapReduceBase
            implements Mapper<Writable, Text, Writable, Text>, ImmutableOutput {
        @Override
        public void map(Writable key, Text value, OutputCollector<Writable, Text> out, Reporter reporter)
                throws IOException {
            out.collect(key, value);
            if (value.getLength() % 3 == 0) {
                out.collect(key, value);
            }
        }
    }

    /** Uses the key before, beside and after the values, which it lists. */
    public static class Listing extends MapReduceBase implements Reducer<Writable, Text, Writable, Text> {
        @Override
        public void reduce(Writable key, Iterator<Text> values, OutputCollector<Writable, Text> out, Reporter reporter)
                throws IOException {
            StringBuilder list = new StringBuilder().append(key);
            while (values.hasNext()) {
                Text value = values.next();
                list.append(' ').append(value);
                out.collect(key, value);
            }
            out.collect(key, new Text(list.toString()));
        }
    }

    /** The same, with the promise. */
    public static class PromisedListing extends Listing implements ImmutableOutput {}

    /** The largest value of each key: a combiner, too. */
    public static class Largest extends MapReduceBase implements Reducer<Writable, Text, Writable, Text> {
        @Override
        public void reduce(Writable key, Iterator<Text> values, OutputCollector<Writable, Text> out, Reporter reporter)
                throws IOException {
            Text largest = new Text();
            while (values.hasNext()) {
                Text value = values.next();
                if (value.compareTo(largest) > 0) {
                    largest.set(value);
                }
            }
            out.collect(key, largest);
        }
    }

    /** The same, with the promise. */
    public static class PromisedLargest extends Largest implements ImmutableOutput {}
}
