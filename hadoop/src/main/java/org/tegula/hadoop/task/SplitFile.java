package org.tegula.hadoop.task;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.split.JobSplit;

/** Reads a map task's input split from the file that the client wrote. */
final class SplitFile {
    private SplitFile() {}

    /**
     * @param rawBytes counts how long the split was
     * @return a split of the interface that the job uses
     */
    @SuppressWarnings("unchecked")
    static <T> T read(JobSplit.TaskSplitIndex place, JobConf conf, Counters.Counter rawBytes) throws IOException {
        Path file = new Path(place.getSplitLocation());
        try (FSDataInputStream in = file.getFileSystem(conf).open(file)) {
            in.seek(place.getStartOffset());
            String name = Text.readString(in);
            Class<T> type;
            try {
                type = (Class<T>) conf.getClassByName(name);
            } catch (ClassNotFoundException e) {
                throw new IOException("Split class " + name + " not found", e);
            }
            Deserializer<T> deserializer = new SerializationFactory(conf).getDeserializer(type);
            deserializer.open(in);
            T split = deserializer.deserialize(null);
            rawBytes.increment(in.getPos() - place.getStartOffset());
            return split;
        }
    }
}
