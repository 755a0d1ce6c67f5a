package org.tegula.hadoop;

import java.security.Permission;

/** Lets programs of others call {@code System.exit} in this JVM: it ends them, and the code is kept. */
@SuppressWarnings("removal") // nothing else in Java 17 keeps a program from ending the JVM
public final class ExitTrap implements AutoCloseable {
    private final SecurityManager before = System.getSecurityManager();
    private Integer code;

    /** Sets the trap. */
    public ExitTrap() {
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkPermission(Permission permission) {}

            @Override
            public void checkPermission(Permission permission, Object context) {}

            @Override
            public void checkExit(int status) {
                if (code == null) {
                    code = status;
                }
                throw new SecurityException("exit " + status);
            }
        });
    }

    /** Runs a program to its end, and gives back the code of its first exit; 0 if it returns. */
    public int run(Program program) throws Exception {
        code = null;
        try {
            program.run();
        } catch (SecurityException e) {
            if (code == null) {
                throw e;
            }
        }
        return code == null ? 0 : code;
    }

    /** Something that may call {@code System.exit}. */
    public interface Program {
        void run() throws Exception;
    }

    @Override
    public void close() {
        System.setSecurityManager(before);
    }
}
