package org.tegula.hadoop.files;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/** The local disk as a client of a server sees it: with the outputs that the server has in memory alone. */
final class ServedFileSystem extends OverlaidDisk {
    private ServedOverlay served;

    @Override
    Overlay overlay(LocalDisk disk, Configuration conf) throws IOException {
        served = new ServedOverlay(disk, conf);
        return served;
    }

    @Override
    public void close() throws IOException {
        super.close();
        served.close();
    }
}
