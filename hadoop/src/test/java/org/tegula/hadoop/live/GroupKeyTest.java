package org.tegula.hadoop.live;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.Test;

/** The copy of a group's key. */
class GroupKeyTest {
    /** A number to which a setting is added when it is read. */
    public static class Shifted extends IntWritable implements Configurable {
        private Configuration conf;

        @Override
        public void setConf(Configuration given) {
            conf = given;
        }

        @Override
        public Configuration getConf() {
            return conf;
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            set(in.readInt() + conf.getInt("test.shift", 0));
        }

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeInt(get());
        }
    }

    @Test
    void isReadWithTheSettingsOfItsOwnJob() throws IOException {
        for (int shift : new int[] {1, 10}) {
            JobConf conf = new JobConf();
            conf.setInt("test.shift", shift);
            conf.setMapOutputKeyClass(Shifted.class);
            GroupKey group = GroupKey.of(conf);
            Object key = group.read(reader(conf));
            Object kept = group.kept(key);
            assertNotSame(key, kept);
            assertEquals(2 * shift, ((Shifted) kept).get());
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Deserializer<Object> reader(JobConf conf) throws IOException {
        Deserializer reader = new SerializationFactory(conf).getDeserializer(Shifted.class);
        DataInputBuffer zero = new DataInputBuffer();
        zero.reset(new byte[Integer.BYTES], Integer.BYTES);
        reader.open(zero);
        return reader;
    }
}
