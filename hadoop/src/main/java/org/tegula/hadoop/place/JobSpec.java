package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;

/**
 * A job on its way to a place.
 *
 * @param id its name
 * @param folder its files, on a file system that the place sees
 * @param user whose it is
 * @param bufferBytes the most that a map task may collect before it sorts
 * @param places how many there are
 * @param settings its own beside those of the engine
 * @param credentials of the user
 * @param splits the contents of the file of input splits; null if the place is to read it
 */
record JobSpec(
        String id,
        String folder,
        String user,
        long bufferBytes,
        int places,
        SentSettings settings,
        Credentials credentials,
        byte[] splits) {
    private static final int NOT_SENT = -1;

    void write(DataOutput out) throws IOException {
        out.writeUTF(id);
        Text.writeString(out, folder);
        Text.writeString(out, user);
        out.writeLong(bufferBytes);
        out.writeInt(places);
        settings.write(out);
        credentials.write(out);
        out.writeInt(splits == null ? NOT_SENT : splits.length);
        if (splits != null) {
            out.write(splits);
        }
    }

    static JobSpec read(Message in) throws IOException {
        String id = in.readUTF();
        String folder = in.text();
        String user = in.text();
        long bufferBytes = in.readLong();
        int places = in.readInt();
        SentSettings settings = SentSettings.read(in);
        Credentials credentials = in.read(new Credentials());
        int length = in.readInt();
        byte[] splits = length == NOT_SENT ? null : in.bytes(length);
        return new JobSpec(id, folder, user, bufferBytes, places, settings, credentials, splits);
    }
}
