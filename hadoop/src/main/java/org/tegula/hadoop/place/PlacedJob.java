package org.tegula.hadoop.place;

import org.apache.hadoop.mapred.JobID;
import org.tegula.hadoop.job.JobFolder;
import org.tegula.hadoop.task.JobResources;

/**
 * A job as places get to know it.
 *
 * @param id its name
 * @param folder its files
 * @param resources what its attempts share in the JVM of the driver
 */
public record PlacedJob(JobID id, JobFolder folder, JobResources resources) {}
