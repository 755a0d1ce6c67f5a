package org.tegula.hadoop.server;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.mapreduce.JobID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.job.Job;

/**
 * A page for people that shows a server's jobs, at a port of the loopback address. It asks for the server's secret as a
 * password. A form that kills a job must come from this page, because browsers send passwords along with forms of other pages,
 * too.
 */
final class ServerPage implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(ServerPage.class);
    private static final int THREADS = 2;
    private static final int MOST_FORM_BYTES = 1 << 10;

    private static final int OK = 200;
    private static final int SEE_OTHER = 303;
    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;

    private final Engine engine;
    private final ServerSecret secret;
    private final PageText text;
    private final HttpServer http;
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS, work -> {
        Thread thread = new Thread(work, "tegula-page");
        thread.setDaemon(true);
        return thread;
    });

    /**
     * A page that is served.
     *
     * @param engine whose jobs it shows
     * @param secret that it asks for
     * @param log the lines to show of the log
     * @param port to listen at; 0 for any that is free
     */
    ServerPage(Engine engine, ServerSecret secret, PageLog log, int port) throws IOException {
        this.engine = engine;
        this.secret = secret;
        this.text = new PageText(engine, log, secret.formToken());
        http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        http.setExecutor(threads);
        http.createContext("/", this::handle);
        http.start();
    }

    /** Where the page is. */
    String url() {
        return "http://" + http.getAddress().getAddress().getHostAddress() + ":"
                + http.getAddress().getPort() + "/";
    }

    /** Where the page of a job is. */
    String url(JobID id) {
        return url() + "job/" + id;
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            if (!isAllowed(exchange)) {
                exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"tegula-hadoop\"");
                answer(exchange, UNAUTHORIZED, "The password is the secret in the server's token file.\n");
                return;
            }
            String path = exchange.getRequestURI().getPath();
            if (path.equals("/")) {
                answer(exchange, OK, text.jobs());
            } else if (path.equals("/log")) {
                answer(exchange, OK, text.log());
            } else if (path.matches("/job/job_[0-9]+_[0-9]+(/kill)?")) {
                handleJob(exchange, path);
            } else {
                answer(exchange, NOT_FOUND, "There is no page " + PageText.escaped(path) + ".\n");
            }
        } catch (RuntimeException e) {
            LOG.error("The page {} could not be made", exchange.getRequestURI(), e);
        }
    }

    private void handleJob(HttpExchange exchange, String path) throws IOException {
        String name = path.split("/")[2];
        Job job = engine.job(org.apache.hadoop.mapred.JobID.forName(name));
        if (job == null) {
            answer(exchange, NOT_FOUND, "There is no job " + name + ", or it ended long ago.\n");
        } else if (!path.endsWith("/kill")) {
            answer(exchange, OK, text.job(job));
        } else if (isOwnForm(exchange)) {
            LOG.warn("{} is killed from the page", name);
            job.kill();
            exchange.getResponseHeaders().set("Location", "/job/" + name);
            answer(exchange, SEE_OTHER, "");
        } else {
            answer(exchange, FORBIDDEN, "To kill a job, use the button of its page.\n");
        }
    }

    private boolean isAllowed(HttpExchange exchange) {
        String given = exchange.getRequestHeaders().getFirst("Authorization");
        if (given == null || !given.startsWith("Basic ")) {
            return false;
        }
        try {
            String pair =
                    new String(Base64.getDecoder().decode(given.substring("Basic ".length())), StandardCharsets.UTF_8);
            return isEqual(pair.substring(pair.indexOf(':') + 1), secret.text());
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private boolean isOwnForm(HttpExchange exchange) throws IOException {
        byte[] form = exchange.getRequestBody().readNBytes(MOST_FORM_BYTES);
        return exchange.getRequestMethod().equals("POST")
                && isEqual(new String(form, StandardCharsets.UTF_8), "form=" + secret.formToken());
    }

    /** In a time that does not tell how much of them is equal. */
    private static boolean isEqual(String given, String wanted) {
        return MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), wanted.getBytes(StandardCharsets.UTF_8));
    }

    private static void answer(HttpExchange exchange, int code, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "text/html; charset=utf-8");
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        exchange.getResponseHeaders().set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
        exchange.sendResponseHeaders(code, bytes.length == 0 ? -1 : bytes.length);
        if (bytes.length > 0) {
            exchange.getResponseBody().write(bytes);
        }
    }

    @Override
    public void close() {
        http.stop(0);
        threads.shutdownNow();
    }
}
