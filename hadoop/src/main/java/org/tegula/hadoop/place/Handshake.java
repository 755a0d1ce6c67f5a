package org.tegula.hadoop.place;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Both ends of a connection between JVMs of one engine prove that they know the engine's secret, before either acts on anything
 * else that it reads. What is sent afterwards is neither signed nor encrypted: as between Hadoop's own nodes, the network must
 * be trusted.
 */
final class Handshake {
    private static final String ALGORITHM = "HmacSHA256";
    private static final int BYTES = 32;
    private static final int MILLIS = 10_000;

    private Handshake() {}

    static byte[] newSecret() {
        return random();
    }

    private static byte[] random() {
        byte[] bytes = new byte[BYTES];
        new SecureRandom().nextBytes(bytes);
        return bytes;
    }

    /** Fails if the other end does not know the secret; the caller closes the socket. */
    static void prove(Socket socket, byte[] secret, boolean isAccepted) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(MILLIS);
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        DataInputStream in = new DataInputStream(socket.getInputStream());
        byte[] own = random();
        out.write(own);
        out.flush();
        byte[] other = in.readNBytes(BYTES);
        out.write(proof(secret, isAccepted, own, other));
        out.flush();
        byte[] expected = proof(secret, !isAccepted, other, own);
        if (!MessageDigest.isEqual(expected, in.readNBytes(BYTES))) {
            throw new IOException(socket.getRemoteSocketAddress() + " does not know the secret of this engine");
        }
        socket.setSoTimeout(0);
    }

    private static byte[] proof(byte[] secret, boolean isAccepted, byte[] own, byte[] other) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(secret, ALGORITHM));
            mac.update((byte) (isAccepted ? 1 : 0));
            mac.update(own);
            return mac.doFinal(other);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
