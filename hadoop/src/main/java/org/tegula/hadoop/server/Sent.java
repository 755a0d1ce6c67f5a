package org.tegula.hadoop.server;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.function.Supplier;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskReport;

/** Answers in classes that a client can make: the engine's own are often nameless subclasses of Hadoop's. */
final class Sent {
    private Sent() {}

    static TaskReport[] reports(TaskReport[] reports) throws IOException {
        TaskReport[] sent = new TaskReport[reports.length];
        for (int i = 0; i < sent.length; i++) {
            sent[i] = copy(reports[i], TaskReport::new);
        }
        return sent;
    }

    static TaskCompletionEvent[] events(TaskCompletionEvent[] events) throws IOException {
        TaskCompletionEvent[] sent = new TaskCompletionEvent[events.length];
        for (int i = 0; i < sent.length; i++) {
            sent[i] = copy(events[i], TaskCompletionEvent::new);
        }
        return sent;
    }

    private static <T extends Writable> T copy(T from, Supplier<T> into) throws IOException {
        DataOutputBuffer out = new DataOutputBuffer();
        from.write(out);
        return read(out, into.get());
    }

    private static <T extends Writable> T read(DataOutputBuffer from, T into) throws IOException {
        DataInputBuffer in = new DataInputBuffer();
        in.reset(from.getData(), from.getLength());
        into.readFields(in);
        return into;
    }

    /** The status of a job, with the reason of a failure, which Hadoop's own leaves out. */
    static final class Status extends JobStatus {
        /** As long as an answer of Hadoop's RPC may be. */
        private static final int MOST_TEXT_BYTES = 1 << 27;

        private String jobFile = "";
        private String failure = "";
        private String page = "";

        /** To be read into. */
        Status() {}

        /** Returns a copy with another place of the job's configuration, and the address of its page. */
        static Status of(JobStatus status, String jobFile, String page) throws IOException {
            DataOutputBuffer out = new DataOutputBuffer();
            status.write(out);
            writeMore(out, jobFile, status.getFailureInfo(), page);
            return Sent.read(out, new Status());
        }

        private static void writeMore(DataOutput out, String jobFile, String failure, String page) throws IOException {
            Text.writeString(out, jobFile);
            Text.writeString(out, failure);
            Text.writeString(out, page);
        }

        @Override
        public synchronized String getTrackingUrl() {
            return page;
        }

        @Override
        public synchronized String getJobFile() {
            return jobFile;
        }

        @Override
        public synchronized String getFailureInfo() {
            return failure;
        }

        @Override
        public synchronized void write(DataOutput out) throws IOException {
            super.write(out);
            writeMore(out, jobFile, failure, page);
        }

        @Override
        public synchronized void readFields(DataInput in) throws IOException {
            try {
                super.readFields(in);
            } catch (RuntimeException e) {
                throw new IOException("The status of a job was damaged on its way", e);
            }
            jobFile = Text.readString(in, MOST_TEXT_BYTES);
            failure = Text.readString(in, MOST_TEXT_BYTES);
            page = Text.readString(in, MOST_TEXT_BYTES);
        }
    }
}
