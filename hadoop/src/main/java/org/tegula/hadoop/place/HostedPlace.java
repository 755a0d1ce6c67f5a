package org.tegula.hadoop.place;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.util.ConfigUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tegula.hadoop.cache.FileVersion;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.cache.SequencePairs;
import org.tegula.hadoop.conf.JobWideConf;
import org.tegula.hadoop.files.PlaceFileSystem;

/** A place in this JVM, for a driver elsewhere: answers its calls, reports to it, and gives other places their pairs. */
final class HostedPlace implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(HostedPlace.class);
    static final long REPORT_MILLIS = 100;

    /** The driver may call as soon as it has been greeted. */
    private final CountDownLatch ready = new CountDownLatch(1);

    private final CountDownLatch ended = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "tegula-place");
        thread.setDaemon(true);
        return thread;
    });
    private final Map<String, HostedJob> jobs = new ConcurrentHashMap<>();
    private final AtomicInteger tasks = new AtomicInteger();
    private final BlockNews news = new BlockNews();
    private final DataServer data;
    private final Calls driver;
    private final FileCalls files;
    private volatile Hosting hosting;
    private volatile DataClient peers;
    /** Those of the engine. */
    private volatile JobConf conf;

    private HostedPlace(Invitation invitation, Socket socket) throws IOException {
        byte[] secret = invitation.secretBytes();
        data = new DataServer(socket.getLocalAddress(), secret, threads, new DataServer.Outputs() {
            @Override
            public RunEncoder encoder(String job, String attempt, int[] partitions, boolean objects)
                    throws IOException {
                return job(job).encoder(attempt, partitions, objects);
            }

            @Override
            public void writeHeld(String id, OutputStream out) throws IOException {
                SequencePairs pairs = files.own(id);
                if (pairs == null) {
                    throw new IOException("This place has no pairs " + id);
                }
                pairs.writeTo(out);
            }
        });
        driver = new Calls(socket, 0, this::handle, threads, why -> ended.countDown());
        files = new FileCalls(driver, UUID.randomUUID().toString());
        PlaceFileSystem.ask(files);
    }

    static HostedPlace connect(Invitation invitation) throws IOException, InterruptedException {
        ConfigUtil.loadResources();
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress(invitation.host(), invitation.port()));
            Handshake.prove(socket, invitation.secretBytes(), false);
            HostedPlace place = new HostedPlace(invitation, socket);
            place.begin(invitation);
            return place;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private void begin(Invitation invitation) throws IOException, InterruptedException {
        driver.start("driver");
        Thread server = new Thread(data::serve, "tegula-place-data");
        server.setDaemon(true);
        server.start();
        Message answer = answerOf(driver.send(Op.HELLO, out -> {
            out.writeInt(invitation.number());
            out.writeLong(ProcessHandle.current().pid());
            Text.writeString(out, data.address());
        }));
        int slots = answer.readInt();
        String folder = answer.text();
        conf = engineConf(SentSettings.read(answer));
        peers = new DataClient(invitation.secretBytes(), PlaceHub.silenceMillis(conf));
        PairCache.shared(conf).listen(news);
        hosting = Hosting.of(invitation.number(), folder, slots, conf, work -> help(slots, work));
        ready.countDown();
        Thread reporter = new Thread(this::report, "tegula-place-reports");
        reporter.setDaemon(true);
        reporter.start();
    }

    /** As a resource of a configuration, which is copied for each job, settings cost a third of what they do otherwise. */
    private static JobConf engineConf(SentSettings settings) {
        JobConf conf = new JobWideConf();
        conf.addResource(settings.over(new JobWideConf()));
        conf.size();
        return conf;
    }

    private static Message answerOf(java.util.concurrent.Future<Message> call)
            throws IOException, InterruptedException {
        try {
            return call.get();
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        }
    }

    /** Runs a helper of a task if a slot of the place is free. */
    private boolean help(int slots, Runnable work) {
        if (tasks.incrementAndGet() > slots) {
            tasks.decrementAndGet();
            return false;
        }
        threads.execute(() -> {
            try {
                work.run();
            } finally {
                tasks.decrementAndGet();
            }
        });
        return true;
    }

    private HostedJob job(String id) throws IOException {
        HostedJob found = jobs.get(id);
        if (found == null) {
            throw new IOException("This place does not know " + id);
        }
        return found;
    }

    private Body handle(Op op, Message in) throws Exception {
        ready.await();
        if (op == Op.BEGIN) {
            JobSpec spec = JobSpec.read(in);
            jobs.put(spec.id(), new HostedJob(hosting, conf, spec, peers, news, new DriverCommits(driver)));
            return Body.EMPTY;
        }
        if (op == Op.DROP) {
            files.drop(in.readUTF());
            return Body.EMPTY;
        }
        if (op == Op.FORGET || op == Op.RENAMED) {
            changeCache(op, in);
            return Body.EMPTY;
        }
        String id = in.readUTF();
        switch (op) {
            case MAP, REDUCE -> {
                tasks.incrementAndGet();
                try {
                    return op == Op.MAP ? job(id).map(in) : job(id).reduce(in);
                } finally {
                    tasks.decrementAndGet();
                }
            }
            case KEEP -> {
                return job(id).keep(in);
            }
            case SHUFFLED -> job(id).shuffled(in);
            case STOP -> job(id).stop(in.readUTF());
            case DISCARD -> job(id).discard(in.readUTF());
            case END -> {
                HostedJob over = jobs.remove(id);
                if (over != null) {
                    over.end();
                }
            }
            default -> throw new IOException("A place is not asked for " + op);
        }
        return Body.EMPTY;
    }

    private void changeCache(Op op, Message in) throws IOException {
        PairCache cache = PairCache.shared(conf);
        String path = in.text();
        if (op == Op.RENAMED) {
            cache.renamed(path, in.text(), this::version);
        } else if (path.isEmpty()) {
            cache.clear();
        } else {
            cache.forget(path);
        }
    }

    private FileVersion version(String name) {
        try {
            Path path = new Path(name);
            return FileVersion.of(FileSystem.get(path.toUri(), conf), path);
        } catch (IOException e) {
            LOG.debug("{} is not a file", name, e);
            return null;
        }
    }

    /** Tells the driver from time to time what is in memory and how far attempts are, which is a sign of life. */
    private void report() {
        try {
            while (ended.getCount() > 0) {
                List<HostedJob.Running> all = new ArrayList<>();
                jobs.values().forEach(job -> all.addAll(job.running().values()));
                driver.send(Op.REPORT, out -> {
                    PlaceState.now(PairCache.shared(conf)).write(out);
                    out.writeInt(all.size());
                    for (HostedJob.Running each : all) {
                        out.writeUTF(each.attempt().id().toString());
                        AttemptFacts.of(each.attempt()).write(out);
                        each.attempt().ask();
                    }
                });
                ended.await(REPORT_MILLIS, TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException e) {
            LOG.warn("The driver is not told any more how far tasks are", e);
        } catch (RuntimeException | Error e) { // a heap that is full
            LOG.error("This place cannot go on", e);
            driver.close();
        }
    }

    /** Waits for the end of the driver, or of its connection. */
    void join() throws InterruptedException {
        ended.await();
    }

    @Override
    public void close() throws IOException {
        driver.close();
        data.close();
        for (HostedJob each : jobs.values()) {
            each.end();
        }
        threads.shutdownNow();
    }
}
