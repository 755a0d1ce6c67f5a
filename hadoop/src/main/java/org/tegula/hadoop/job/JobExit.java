package org.tegula.hadoop.job;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Replaces {@code System.exit} in classes that a job brings: it ends the attempt, not the JVM with all other jobs in it. Their
 * bytes are changed when they are loaded: a reference to the one method becomes one to the other, of the same descriptor, for
 * which constants are added after all others. The code itself stays unchanged.
 */
public final class JobExit {
    private static final String SYSTEM = "java/lang/System";
    private static final String EXIT = "exit";
    private static final String OF_INT = "(I)V";
    private static final String HERE = JobExit.class.getName().replace('.', '/');

    private static final int MAGIC = 0xCAFEBABE;
    private static final int COUNT_AT = 8;
    private static final int CONSTANTS_AT = 10;
    private static final int UTF8 = 1;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    private static final int CLASS = 7;
    private static final int METHOD = 10;
    private static final int MOST_CONSTANTS = 0xFFFF;

    private JobExit() {}

    /** Ends an attempt of a task; an error, because programs catch exceptions. */
    static final class Called extends Error {
        Called(int status) {
            super("The program has called System.exit(" + status + ")");
        }
    }

    /**
     * Replaces {@code System.exit}.
     *
     * @param status with which the program wants the JVM to end
     */
    public static void exit(int status) {
        throw new Called(status);
    }

    /**
     * A class that calls this in place of {@code System.exit}; the bytes as they are if it does not call that, or is no
     * class: then the JVM says so.
     */
    static byte[] in(byte[] type) {
        try {
            return changed(type);
        } catch (IndexOutOfBoundsException e) {
            return type;
        }
    }

    private static byte[] changed(byte[] type) {
        ByteBuffer bytes = ByteBuffer.wrap(type);
        if (bytes.getInt(0) != MAGIC) {
            return type;
        }
        int[] places = new int[Short.toUnsignedInt(bytes.getShort(COUNT_AT))];
        int end = findConstants(bytes, places);
        int found = 0;
        byte[] changed = type.clone();
        for (int place : places) {
            if (place != 0 && type[place] == METHOD && isExit(bytes, places, place)) {
                ByteBuffer.wrap(changed).putShort(place + 1, (short) (places.length + 1));
                found++;
            }
        }
        return found == 0 || places.length + 2 > MOST_CONSTANTS ? type : withClass(changed, places.length, end);
    }

    /** Where each constant begins; the end of the last. */
    private static int findConstants(ByteBuffer bytes, int[] places) {
        int at = CONSTANTS_AT;
        for (int i = 1; i < places.length; i++) {
            places[i] = at;
            int tag = bytes.get(at);
            at += 1
                    + switch (tag) {
                        case UTF8 -> 2 + Short.toUnsignedInt(bytes.getShort(at + 1));
                        case LONG, DOUBLE -> 8;
                        case CLASS, 8, 16, 19, 20 -> 2;
                        case 15 -> 3;
                        case 3, 4, 9, METHOD, 11, 12, 17, 18 -> 4;
                        default -> throw new IndexOutOfBoundsException(tag);
                    };
            if (tag == LONG || tag == DOUBLE) {
                i++;
            }
        }
        return at;
    }

    private static boolean isExit(ByteBuffer bytes, int[] places, int method) {
        int owner = places[Short.toUnsignedInt(bytes.getShort(method + 1))];
        int signature = places[Short.toUnsignedInt(bytes.getShort(method + 3))];
        return isText(bytes, places, owner + 1, SYSTEM)
                && isText(bytes, places, signature + 1, EXIT)
                && isText(bytes, places, signature + 3, OF_INT);
    }

    private static boolean isText(ByteBuffer bytes, int[] places, int reference, String text) {
        int place = places[Short.toUnsignedInt(bytes.getShort(reference))];
        if (Short.toUnsignedInt(bytes.getShort(place + 1)) != text.length()) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            if (bytes.get(place + 3 + i) != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** Adds a name and a class of that name after the constants. */
    private static byte[] withClass(byte[] type, int count, int end) {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(type));
                DataOutputStream out = new DataOutputStream(whole)) {
            out.write(in.readNBytes(COUNT_AT));
            in.readUnsignedShort();
            out.writeShort(count + 2);
            out.write(in.readNBytes(end - CONSTANTS_AT));
            out.writeByte(UTF8);
            out.writeUTF(HERE);
            out.writeByte(CLASS);
            out.writeShort(count);
            in.transferTo(out);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
        return whole.toByteArray();
    }
}
