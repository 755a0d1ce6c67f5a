package org.tegula.hadoop.place;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** The program of a JVM that is a place: host and port of the driver, and its number, are its arguments. */
public final class PlaceMain {
    private PlaceMain() {}

    /**
     * Is a place until the driver has ended. The secret is the first line of the standard input.
     *
     * @param arguments host, port, number
     * @throws IOException if the driver cannot be reached
     * @throws InterruptedException if the thread is interrupted
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        host(new Invitation(
                arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]), in.readLine()));
        System.exit(0); // whatever threads programs have left
    }

    /**
     * Is a place in this JVM until the driver has ended, or is not heard of.
     *
     * @param invitation of the driver
     * @throws IOException if the driver cannot be reached
     * @throws InterruptedException if the thread is interrupted
     */
    public static void host(Invitation invitation) throws IOException, InterruptedException {
        try (HostedPlace place = HostedPlace.connect(invitation)) {
            place.join();
        }
    }
}
