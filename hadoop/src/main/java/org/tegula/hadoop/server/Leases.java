package org.tegula.hadoop.server;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.tegula.hadoop.job.Job;

/** Which jobs go with which clients: a client that is not heard of for long enough has its jobs killed. */
final class Leases {
    private final long lengthNanos;
    private final Map<ByteBuffer, Lease> leases = new HashMap<>();

    private static final class Lease {
        private final List<Job> jobs = new ArrayList<>();
        private long heardNanos;

        int running() {
            jobs.removeIf(Job::hasEnded);
            return jobs.size();
        }
    }

    Leases(long lengthSeconds) {
        lengthNanos = TimeUnit.SECONDS.toNanos(lengthSeconds);
    }

    /** A client has called; it may be one without jobs. */
    synchronized void heard(byte[] client) {
        Lease lease = leases.get(ByteBuffer.wrap(client));
        if (lease != null) {
            lease.heardNanos = System.nanoTime();
        }
    }

    /** Makes a job go when its client does. */
    synchronized void add(byte[] client, Job job) {
        Lease lease = leases.computeIfAbsent(ByteBuffer.wrap(client.clone()), absent -> new Lease());
        lease.heardNanos = System.nanoTime();
        lease.jobs.add(job);
    }

    /** How many jobs of a client run. */
    synchronized int running(byte[] client) {
        Lease lease = leases.get(ByteBuffer.wrap(client));
        return lease == null ? 0 : lease.running();
    }

    /** Removes and returns the jobs of clients with expired leases, which the caller kills. */
    synchronized List<Job> expired() {
        List<Job> jobs = new ArrayList<>();
        long now = System.nanoTime();
        for (Iterator<Lease> all = leases.values().iterator(); all.hasNext(); ) {
            Lease lease = all.next();
            if (lease.running() == 0) {
                all.remove();
            } else if (now - lease.heardNanos > lengthNanos) {
                jobs.addAll(lease.jobs);
                all.remove();
            }
        }
        return jobs;
    }
}
