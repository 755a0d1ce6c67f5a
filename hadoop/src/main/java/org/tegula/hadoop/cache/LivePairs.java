package org.tegula.hadoop.cache;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;

/** The pairs of a file as objects that nobody changes any more; it has no bytes until someone wants them. */
final class LivePairs extends SequencePairs {
    private final LiveBlock all;

    LivePairs(LiveBlock all, SequenceLayout layout, Configuration conf, int home) {
        super(layout, conf, home);
        this.all = all;
    }

    @Override
    PairBlock all() {
        return all;
    }

    @Override
    PairBlock part(SequenceLayout.Part part) {
        return all.part(part.firstPair(), part.endPair());
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        SequenceBytes bytes = new SequenceBytes(all.keyType(), all.valueType(), out);
        all.forEach(bytes::add);
        if (bytes.layout().length() != length()) {
            throw new IOException("Objects of " + all.keyType() + " or " + all.valueType()
                    + " were changed after they were written: they had " + length() + " bytes and have "
                    + bytes.layout().length() + ". Their job promises ImmutableOutput, and must keep to it");
        }
    }

    @Override
    public void release() {
        all.release();
    }
}
