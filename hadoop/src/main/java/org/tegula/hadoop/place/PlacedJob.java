package org.tegula.hadoop.place;

import java.util.function.Consumer;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.security.UserGroupInformation;
import org.tegula.hadoop.job.JobFolder;
import org.tegula.hadoop.task.JobResources;

/**
 * A job as places get to know it.
 *
 * @param id its name
 * @param folder its files
 * @param user whose it is
 * @param resources what its attempts share in the JVM of the driver
 * @param lost takes the loss of a place where a task of the job has begun
 */
public record PlacedJob(
        JobID id, JobFolder folder, UserGroupInformation user, JobResources resources, Consumer<PlaceLost> lost) {}
