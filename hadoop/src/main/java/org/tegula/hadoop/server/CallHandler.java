package org.tegula.hadoop.server;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.hadoop.ipc.Server;

/** Notes of every call whose it is, before it is answered. */
record CallHandler(ServerProtocol answers, Leases leases) implements InvocationHandler {
    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        leases.heard(Server.getClientId());
        try {
            return method.invoke(answers, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
