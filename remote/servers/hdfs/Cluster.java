// A namenode and one datanode on loopback, for tests. Run as: java -cp ... Cluster.java FOLDER HOST
// BLOCK, where HOST is the name under which the datanode tells clients to find it, and BLOCK what files
// are cut into, in bytes. The namenode's port and the datanode's are printed as one line. Commands come on standard
// input, one a line, and each is answered by a line: "put LOCAL PATH", "delete PATH",
// "deny PATH" (nobody but its owner may read it). The end of standard input ends the cluster, so it
// never outlives who started it.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

public class Cluster {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new HdfsConfiguration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        configuration.set("dfs.datanode.hostname", arguments[1]);
        configuration.set("dfs.blocksize", arguments[2]);
        configuration.setInt("dfs.replication", 1);
        configuration.setInt("dfs.ls.limit", 10);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration)
            .numDataNodes(1)
            .checkDataNodeHostConfig(true)
            .build();
        cluster.waitActive();
        FileSystem files = cluster.getFileSystem();
        System.out.println("ready " + cluster.getNameNodePort() + " "
            + cluster.getDataNodes().get(0).getXferPort());
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = commands.readLine()) != null) {
            try {
                run(files, line.split(" "));
                System.out.println("done");
            } catch (Exception exception) {
                System.out.println("failed " + exception.toString().replace('\n', ' '));
            }
        }
        cluster.shutdown(true);
        System.exit(0);
    }

    private static void run(FileSystem files, String[] words) throws Exception {
        switch (words[0]) {
            case "put" -> files.copyFromLocalFile(false, true, new Path(words[1]), new Path(words[2]));
            case "delete" -> files.delete(new Path(words[1]), true);
            case "deny" -> files.setPermission(new Path(words[1]), new FsPermission((short) 0700));
            default -> throw new IllegalArgumentException(words[0]);
        }
    }
}
