package org.tegula.hadoop.place;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.tegula.hadoop.wire.Input;
import org.tegula.hadoop.wire.Target;

/** Messages with objects of Hadoop's in them: a job with its credentials, and an attempt with its counters. */
public final class JobMessagesTarget implements Target {
    @Override
    public boolean believesLengths() {
        return true;
    }

    @Override
    public void read(byte[] bytes) throws IOException {
        Input input = new Input(bytes);
        boolean isJob = input.choice() % 2 == 0;
        Message in = new Message(input.rest());
        if (!isJob) {
            AttemptFacts facts = AttemptFacts.read(in);
            AttemptFacts again = AttemptFacts.read(new Message(MessagesTarget.written(facts::write)));
            assertEquals(facts.silentNanos(), again.silentNanos());
            assertEquals(facts.progress(), again.progress());
            assertEquals(facts.status(), again.status());
            assertEquals(facts.counters(), again.counters());
            return;
        }
        JobSpec job = JobSpec.read(in);
        JobSpec again = JobSpec.read(new Message(MessagesTarget.written(job::write)));
        assertEquals(job.id(), again.id());
        assertEquals(job.folder(), again.folder());
        assertEquals(job.user(), again.user());
        assertEquals(job.bufferBytes(), again.bufferBytes());
        assertEquals(job.places(), again.places());
        assertEquals(job.settings(), again.settings());
        assertEquals(job.credentials().getTokenMap(), again.credentials().getTokenMap());
        assertEquals(
                job.credentials().getSecretKeyMap().keySet(),
                again.credentials().getSecretKeyMap().keySet());
        assertArrayEquals(job.splits(), again.splits());
    }
}
