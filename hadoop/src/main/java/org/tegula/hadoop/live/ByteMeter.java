package org.tegula.hadoop.live;

import java.io.DataOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;
import org.apache.hadoop.io.Writable;

/**
 * Counts the bytes that an object would write of itself, and keeps none: a number costs an addition, where a stream would
 * take it apart. Objects that want more than a {@link DataOutput} or a plain stream cannot be measured.
 */
public final class ByteMeter extends OutputStream implements DataOutput {
    private static final int LARGEST_TEXT = 0xFFFF;
    private static final int ONE_BYTE_END = 0x80;
    private static final int TWO_BYTES_END = 0x800;

    private long bytes;

    private ByteMeter() {}

    /**
     * Measures an object.
     *
     * @param object that is asked to write itself
     * @return bytes
     * @throws IOException if it cannot, or is larger than an array
     */
    public static int of(Writable object) throws IOException {
        ByteMeter meter = new ByteMeter();
        object.write(meter);
        if (meter.bytes > Integer.MAX_VALUE) {
            throw new IOException(
                    object.getClass().getName() + " writes " + meter.bytes + " bytes, more than fit a record");
        }
        return (int) meter.bytes;
    }

    @Override
    public void write(int b) {
        bytes++;
    }

    @Override
    public void write(byte[] source) {
        bytes += source.length;
    }

    @Override
    public void write(byte[] source, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, source.length);
        bytes += length;
    }

    @Override
    public void writeBoolean(boolean value) {
        bytes++;
    }

    @Override
    public void writeByte(int value) {
        bytes++;
    }

    @Override
    public void writeShort(int value) {
        bytes += Short.BYTES;
    }

    @Override
    public void writeChar(int value) {
        bytes += Character.BYTES;
    }

    @Override
    public void writeInt(int value) {
        bytes += Integer.BYTES;
    }

    @Override
    public void writeLong(long value) {
        bytes += Long.BYTES;
    }

    @Override
    public void writeFloat(float value) {
        bytes += Float.BYTES;
    }

    @Override
    public void writeDouble(double value) {
        bytes += Double.BYTES;
    }

    @Override
    public void writeBytes(String text) {
        bytes += text.length();
    }

    @Override
    public void writeChars(String text) {
        bytes += (long) Character.BYTES * text.length();
    }

    /** Java's own variant of UTF-8, with two bytes for its length. */
    @Override
    public void writeUTF(String text) throws IOException {
        long encoded = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            encoded += c != 0 && c < ONE_BYTE_END ? 1 : c < TWO_BYTES_END ? 2 : 3;
        }
        if (encoded > LARGEST_TEXT) {
            throw new java.io.UTFDataFormatException("A text of " + encoded + " bytes is too long for writeUTF");
        }
        bytes += Short.BYTES + encoded;
    }
}
