package org.tegula.hadoop.server;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Collection;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.security.token.TokenSelector;

/**
 * Names the user of a client's calls. A client that can read the server's secret makes a token and signs it; the secret itself
 * never goes over the wire.
 */
public final class ServerToken extends TokenIdentifier {
    private static final int MOST_USER_BYTES = 1 << 10;
    private static final Text KIND = new Text("TEGULA_SERVER");

    private String user = "";

    /** To be read into. */
    public ServerToken() {}

    /**
     * For a user.
     *
     * @param user a short name
     */
    public ServerToken(String user) {
        this.user = user;
    }

    @Override
    public Text getKind() {
        return KIND;
    }

    @Override
    public UserGroupInformation getUser() {
        return user.isEmpty() ? null : UserGroupInformation.createRemoteUser(user);
    }

    @Override
    public void write(DataOutput out) throws IOException {
        Text.writeString(out, user);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        user = Text.readString(in, MOST_USER_BYTES); // read before the client has proved anything
        try {
            getUser();
        } catch (RuntimeException e) { // of a principal without a rule
            throw new IOException("The token names " + user + ", which is not the short name of a user", e);
        }
    }

    /** Finds the token of this kind among those of a connection, which has but one. */
    public static final class Selector implements TokenSelector<ServerToken> {
        /** Made by Hadoop. */
        public Selector() {}

        @Override
        @SuppressWarnings("unchecked") // the kind says which class the identifier has
        public Token<ServerToken> selectToken(Text service, Collection<Token<? extends TokenIdentifier>> tokens) {
            for (Token<? extends TokenIdentifier> each : tokens) {
                if (each.getKind().equals(KIND)) {
                    return (Token<ServerToken>) each;
                }
            }
            return null;
        }
    }
}
