package org.tegula.hadoop.job;

import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;

/**
 * How a job wants its tasks of one kind to be run.
 *
 * @param maxAttempts how often a task is tried
 * @param maxFailedPercent how many tasks may fail for good without failing the job
 * @param atOnce how many run at once, at most
 * @param timeoutMillis after how long without a sign of life an attempt has failed; 0 for never
 * @param lookMillis at which intervals it is looked for signs of life
 */
record StageRules(int maxAttempts, int maxFailedPercent, int atOnce, long timeoutMillis, long lookMillis) {
    private static final long LOOK_MILLIS = 1000;

    static StageRules forMaps(JobConf conf) {
        return new StageRules(
                conf.getMaxMapAttempts(),
                conf.getMaxMapTaskFailuresPercent(),
                limit(conf.getInt(MRJobConfig.JOB_RUNNING_MAP_LIMIT, 0)),
                timeout(conf),
                look(conf));
    }

    static StageRules forReduces(JobConf conf) {
        return new StageRules(
                conf.getMaxReduceAttempts(),
                conf.getMaxReduceTaskFailuresPercent(),
                limit(conf.getInt(MRJobConfig.JOB_RUNNING_REDUCE_LIMIT, 0)),
                timeout(conf),
                look(conf));
    }

    private static int limit(int asked) {
        return asked > 0 ? asked : Integer.MAX_VALUE;
    }

    private static long timeout(JobConf conf) {
        return conf.getLong(MRJobConfig.TASK_TIMEOUT, MRJobConfig.DEFAULT_TASK_TIMEOUT_MILLIS);
    }

    private static long look(JobConf conf) {
        return Math.max(1, conf.getLong(MRJobConfig.TASK_TIMEOUT_CHECK_INTERVAL_MS, LOOK_MILLIS));
    }
}
