package org.tegula.hadoop.server;

import java.io.DataOutput;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.tegula.hadoop.api.ImmutableOutput;

/**
 * A program for tests of faults: it joins lines of one length, and in one of its phases, in the first run of the job, it tells its process
 * in a file of a folder, and waits there until the test lets it go on, or does something bad.
 */
final class Pauses {
    static final String PHASE = "pauses.phase";
    static final String FOLDER = "pauses.folder";
    static final String DEED = "pauses.deed";
    static final String PROCESS = "pauses.process";

    /** Objects are passed on as they are if they are large. */
    private static final String PADDING = " ".repeat(300);

    private Pauses() {}

    /** Where it waits. */
    enum Phase {
        MAP,
        SHUFFLE,
        REDUCE,
        TASK_COMMIT,
        JOB_COMMIT
    }

    /** What it does at one place, in a map. */
    enum Deed {
        THROW,
        HANG,
        EXIT,
        FILL_THE_HEAP
    }

    static void at(Phase phase, Configuration conf) throws IOException {
        if (phase.name().equals(conf.get(PHASE))) {
            pause(Path.of(conf.get(FOLDER)));
        }
    }

    private static void pause(Path folder) throws IOException {
        long pid = ProcessHandle.current().pid();
        Path half = Files.writeString(folder.resolve("half-" + System.nanoTime()), Long.toString(pid));
        Files.move(half, folder.resolve("paused-" + System.nanoTime()));
        try {
            while (!Files.exists(folder.resolve("go"))) {
                TimeUnit.MILLISECONDS.sleep(5);
            }
        } catch (InterruptedException e) {
            throw new InterruptedIOException("stopped while it paused");
        }
    }

    private static boolean isFirstRun(TaskAttemptContext context) {
        return context.getTaskAttemptID().getId() < 1000;
    }

    /** A line; when another place fetches it, it may wait. */
    public static final class Line extends Text {
        private static volatile Path shuffleFolder;

        /** Made by Hadoop. */
        public Line() {}

        Line(String text) {
            super(text);
        }

        @Override
        public void write(DataOutput out) throws IOException {
            if (shuffleFolder != null && Thread.currentThread().getName().equals("tegula-place")) {
                pause(shuffleFolder);
            }
            super.write(out);
        }
    }

    /** Emits lengths and lines. */
    public static final class Map extends Mapper<LongWritable, Text, IntWritable, Line> implements ImmutableOutput {
        private boolean first = true;

        @Override
        protected void setup(Context context) {
            Configuration conf = context.getConfiguration();
            boolean waits = isFirstRun(context) && Phase.SHUFFLE.name().equals(conf.get(PHASE));
            Line.shuffleFolder = waits ? Path.of(conf.get(FOLDER)) : null;
        }

        @Override
        protected void map(LongWritable place, Text line, Context context) throws IOException, InterruptedException {
            if (first && isFirstRun(context)) {
                at(Phase.MAP, context.getConfiguration());
                deed(context.getConfiguration());
            }
            first = false;
            context.write(new IntWritable(line.getLength()), new Line(line + PADDING));
        }

        private static void deed(Configuration conf) throws IOException {
            if (conf.getLong(PROCESS, 0) != ProcessHandle.current().pid()) {
                return;
            }
            switch (Deed.valueOf(conf.get(DEED))) {
                case THROW -> throw new IOException("bad luck");
                case HANG -> hang();
                case EXIT -> System.exit(3);
                case FILL_THE_HEAP -> {
                    List<long[]> all = new ArrayList<>();
                    while (true) {
                        all.add(new long[1 << 16]);
                    }
                }
            }
        }

        /** Deaf to interrupts. */
        private static void hang() {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(6);
            while (System.nanoTime() < end) {
                try {
                    TimeUnit.MILLISECONDS.sleep(100);
                } catch (InterruptedException e) {
                    Thread.interrupted();
                }
            }
        }
    }

    /** Joins the lines of each length. */
    public static final class Reduce extends Reducer<IntWritable, Line, IntWritable, Text> implements ImmutableOutput {
        @Override
        protected void reduce(IntWritable length, Iterable<Line> lines, Context context)
                throws IOException, InterruptedException {
            if (isFirstRun(context)) {
                at(Phase.REDUCE, context.getConfiguration());
            }
            StringBuilder all = new StringBuilder();
            lines.forEach(each -> all.append(each).append(' '));
            context.write(length, new Text(all.toString()));
        }
    }

    /** Writes text; a commit may wait. */
    public static final class Format extends TextOutputFormat<IntWritable, Text> {
        @Override
        public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context) throws IOException {
            return new FileOutputCommitter(FileOutputFormat.getOutputPath(context), context) {
                @Override
                public void commitTask(TaskAttemptContext task) throws IOException {
                    if (isFirstRun(task)) {
                        at(Phase.TASK_COMMIT, task.getConfiguration());
                    }
                    super.commitTask(task);
                }

                @Override
                public void commitJob(JobContext job) throws IOException {
                    at(Phase.JOB_COMMIT, job.getConfiguration());
                    super.commitJob(job);
                }
            };
        }
    }
}
