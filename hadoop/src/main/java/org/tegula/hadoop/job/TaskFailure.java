package org.tegula.hadoop.job;

/** Ends a job, one of whose tasks has failed as often as it may. */
final class TaskFailure extends Exception {
    TaskFailure(String message, Throwable cause) {
        super(message, cause);
    }
}
