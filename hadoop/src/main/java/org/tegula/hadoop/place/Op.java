package org.tegula.hadoop.place;

/** The calls between the driver and a place; their order is that of their numbers on the wire. */
enum Op {
    /** To the driver, first of all: which place it is, where it is, and where its data are fetched. */
    HELLO,
    /** To the driver, from time to time: what the place has in memory, and how far its attempts are. */
    REPORT,
    /** To the driver: about the files that it has in memory; see {@link FileCalls}. */
    FILES,
    /** To the driver: whether an attempt may commit its output. */
    MAY_COMMIT,
    /** To a place: gives up the pairs of a file. */
    DROP,
    /** To a place: the files, settings and credentials of a job. */
    BEGIN,
    /** To a place: runs an attempt of a map task; answered when it has ended. */
    MAP,
    /** To a place: the output of all maps of a job. */
    SHUFFLED,
    /** To a place: runs an attempt of a reduce task; answered when it has ended. */
    REDUCE,
    /** To a place: ends an attempt soon. */
    STOP,
    /** To a place: nobody waits for an attempt any more. */
    DISCARD,
    /** To a place: the job was committed; the attempts that it counts. */
    KEEP,
    /** To a place: the job has ended. */
    END,
    /** To a place: drops the kept pairs of a path. */
    FORGET,
    /** To a place: kept pairs of a path follow it to its new name. */
    RENAMED
}
