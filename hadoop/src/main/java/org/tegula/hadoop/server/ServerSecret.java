package org.tegula.hadoop.server;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
import javax.crypto.SecretKey;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.Token;
import org.tegula.hadoop.Settings;

/**
 * The shared secret of a server and its clients: a key in a file that only one user of the machine may read. Tokens are signed
 * with it, and Hadoop's RPC has client and server prove to each other that they know the signature.
 */
public final class ServerSecret extends SecretManager<ServerToken> {
    private static final int KEY_BYTES = 32;

    private final String text;
    private final SecretKey key;

    private ServerSecret(String text) {
        this.text = text;
        this.key = createSecretKey(text.getBytes(StandardCharsets.UTF_8));
    }

    /** A new one, which nobody knows. */
    static ServerSecret create() {
        byte[] bytes = new byte[KEY_BYTES];
        new SecureRandom().nextBytes(bytes);
        return new ServerSecret(HexFormat.of().formatHex(bytes));
    }

    /**
     * Where the secret of a server is.
     *
     * @param conf may name the file
     * @param port of the server
     * @return a file in the home of the user, if none is named
     */
    public static Path file(Configuration conf, int port) {
        String named = conf.getTrimmed(Settings.SERVER_TOKEN_FILE, "");
        return named.isEmpty()
                ? Path.of(System.getProperty("user.home"), ".tegula", "server-" + port + ".token")
                : Path.of(named);
    }

    /**
     * The secret in a file.
     *
     * @param file that a server has written
     * @return its secret
     * @throws IOException if it cannot be read
     */
    public static ServerSecret read(Path file) throws IOException {
        String text = Files.readString(file).strip();
        if (text.isEmpty()) {
            throw new IOException(file + " has no secret of a server: remove it, and start the server again");
        }
        return new ServerSecret(text);
    }

    /** The secret itself. */
    String text() {
        return text;
    }

    /** Returns a token that only forms of the server's own page have, and that does not reveal the secret. */
    String formToken() {
        return HexFormat.of().formatHex(createPassword("form".getBytes(StandardCharsets.UTF_8), key));
    }

    /** Writes the secret to a file that only this user may read, in place of any that is there. */
    void write(Path file) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        if (!Files.isDirectory(folder)) {
            Files.createDirectories(
                    folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        }
        Path half = Files.createTempFile(
                folder,
                "." + file.getFileName(),
                "",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try {
            Files.writeString(half, text + "\n");
            Files.move(half, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(half);
        }
    }

    /** Removes the file, unless another server has put its own there. */
    void remove(Path file) throws IOException {
        if (Files.exists(file) && Files.readString(file).strip().equals(text)) {
            Files.delete(file);
        }
    }

    /**
     * A token that the server believes.
     *
     * @param user on whose behalf its holder calls
     * @return a token of its own
     */
    public Token<ServerToken> token(String user) {
        return new Token<>(new ServerToken(user), this);
    }

    @Override
    protected byte[] createPassword(ServerToken token) {
        return createPassword(token.getBytes(), key);
    }

    @Override
    public byte[] retrievePassword(ServerToken token) {
        return createPassword(token);
    }

    @Override
    public ServerToken createIdentifier() {
        return new ServerToken();
    }
}
