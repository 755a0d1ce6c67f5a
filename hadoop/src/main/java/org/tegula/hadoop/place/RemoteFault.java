package org.tegula.hadoop.place;

import java.io.DataOutput;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.util.StringUtils;

/** An exception of another place; its text and stack are those of the exception there, whose class may not be known here. */
final class RemoteFault extends Exception {
    private final String text;
    private final String stack;

    private RemoteFault(String text, String stack) {
        super(text, null, false, false);
        this.text = text;
        this.stack = stack;
    }

    static void write(Throwable fault, DataOutput out) throws IOException {
        Text.writeString(out, fault.toString());
        Text.writeString(out, StringUtils.stringifyException(fault));
    }

    static RemoteFault read(Message in) throws IOException {
        return new RemoteFault(in.text(), in.text());
    }

    /** The same, with the name of the place after its stack. */
    RemoteFault at(String place) {
        return new RemoteFault(text, stack + (stack.endsWith("\n") ? "" : "\n") + "\tat " + place + "\n");
    }

    /**
     * Returns the same as a fault of files, which programs tell apart by its class: of the class that it had, if this JVM has it
     * and can make it of a message.
     */
    IOException ofFiles() {
        int colon = text.indexOf(": ");
        String type = colon < 0 ? text : text.substring(0, colon);
        String message = colon < 0 ? null : text.substring(colon + 2);
        try {
            IOException same = Class.forName(type)
                    .asSubclass(IOException.class)
                    .getConstructor(String.class)
                    .newInstance(message);
            same.initCause(this);
            return same;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            return new IOException(text, this);
        }
    }

    @Override
    public String toString() {
        return text;
    }

    @Override
    public void printStackTrace(PrintStream out) {
        out.print(stack);
    }

    @Override
    public void printStackTrace(PrintWriter out) {
        out.print(stack);
    }
}
