package org.tegula.hadoop.wire;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/** A connection whose other end has sent some bytes and closed it. */
public final class ConnectionOf extends Socket {
    private final InputStream in;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    /**
     * After these bytes, it is at its end.
     *
     * @param bytes of the other end
     */
    public ConnectionOf(byte[] bytes) {
        in = new ByteArrayInputStream(bytes);
    }

    @Override
    public InputStream getInputStream() {
        return in;
    }

    @Override
    public OutputStream getOutputStream() {
        return out;
    }

    /**
     * What was sent to the other end.
     *
     * @return the bytes until now
     */
    public byte[] sent() {
        return out.toByteArray();
    }

    @Override
    public void setSoTimeout(int millis) {}

    @Override
    public void setTcpNoDelay(boolean on) {}
}
