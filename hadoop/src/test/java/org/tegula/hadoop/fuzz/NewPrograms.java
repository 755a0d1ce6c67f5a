package org.tegula.hadoop.fuzz;

import java.io.IOException;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.MarkableIterator;
import org.apache.hadoop.mapreduce.Reducer;
import org.tegula.hadoop.api.ImmutableOutput;

/** Mappers and reducers of the {@code mapreduce} interface, for keys of any type and values that are texts. */
public final class NewPrograms {
    private NewPrograms() {}

    /** Emits some records twice, from objects that it changes afterwards. */
    public static class Reusing extends Mapper<Writable, Text, Writable, Text> {
        private final Text value = new Text();

        @Override
        protected void map(Writable key, Text in, Context context) throws IOException, InterruptedException {
            value.set(in);
            context.write(key, value);
            if (in.getLength() % 3 == 0) {
                value.append("+".getBytes(), 0, 1);
                context.write(key, value);
            }
            value.clear();
        }
    }

    /** Emits the pairs that it is handed, some of them twice. */
    public static class Passing extends Mapper<Writable, Text, Writable, Text> implements ImmutableOutput {
        @Override
        protected void map(Writable key, Text value, Context context) throws IOException, InterruptedException {
            context.write(key, value);
            if (value.getLength() % 3 == 0) {
                context.write(key, value);
            }
        }
    }

    /** Uses the key that it was handed beside each value, as for a secondary sort. */
    public static class KeyInLoop extends Reducer<Writable, Text, Writable, Text> {
        @Override
        protected void reduce(Writable key, Iterable<Text> values, Context context)
                throws IOException, InterruptedException {
            for (Text value : values) {
                context.write(key, value);
            }
        }
    }

    /** The same, with the promise. */
    public static class PromisedKeyInLoop extends KeyInLoop implements ImmutableOutput {}

    /** Asks for each key. */
    public static class CurrentKey extends Reducer<Writable, Text, Writable, Text> {
        @Override
        protected void reduce(Writable key, Iterable<Text> values, Context context)
                throws IOException, InterruptedException {
            for (Text value : values) {
                context.write(context.getCurrentKey(), value);
            }
        }
    }

    /** The same, with the promise. */
    public static class PromisedCurrentKey extends CurrentKey implements ImmutableOutput {}

    /** Uses the key before and after the values, which it lists. */
    public static class Listing extends Reducer<Writable, Text, Writable, Text> {
        @Override
        protected void reduce(Writable key, Iterable<Text> values, Context context)
                throws IOException, InterruptedException {
            StringBuilder list = new StringBuilder().append(key);
            for (Text value : values) {
                list.append(' ').append(value);
                context.write(key, new Text(key.toString()));
            }
            context.write(key, new Text(list.toString()));
        }
    }

    /** The same, with the promise. */
    public static class PromisedListing extends Listing implements ImmutableOutput {}

    /** Goes through the values twice. */
    public static class Twice extends Reducer<Writable, Text, Writable, Text> {
        @Override
        protected void reduce(Writable key, Iterable<Text> values, Context context)
                throws IOException, InterruptedException {
            MarkableIterator<Text> all = new MarkableIterator<>(values.iterator());
            all.mark();
            int count = 0;
            while (all.hasNext()) {
                all.next();
                count++;
            }
            all.reset();
            while (all.hasNext()) {
                Text value = all.next();
                context.write(key, count % 2 == 0 ? value : new Text(count + " of " + key));
            }
        }
    }

    /** The same, with the promise. */
    public static class PromisedTwice extends Twice implements ImmutableOutput {}

    /** The largest value of each key: a combiner, too. */
    public static class Largest extends Reducer<Writable, Text, Writable, Text> {
        @Override
        protected void reduce(Writable key, Iterable<Text> values, Context context)
                throws IOException, InterruptedException {
            Text largest = new Text();
            for (Text value : values) {
                if (value.compareTo(largest) > 0) {
                    largest.set(value);
                }
            }
            context.write(key, largest);
        }
    }

    /** The same, with the promise. */
    public static class PromisedLargest extends Largest implements ImmutableOutput {}
}
