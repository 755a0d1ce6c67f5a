package org.tegula.hadoop.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.tegula.hadoop.Engines;
import org.tegula.hadoop.Jobs;
import org.tegula.hadoop.Settings;
import org.tegula.hadoop.files.CachedLocalFileSystem;

/** The page of a server shows its jobs to users with the secret, and kills them only for its own forms. */
@Timeout(120)
class ServerPageTest {
    @TempDir
    Path folder;

    private final HttpClient browser = HttpClient.newHttpClient();
    private Configuration site;
    private EngineServer server;
    private String password;

    @BeforeEach
    void serve() throws IOException {
        site = Engines.TEGULA.conf(folder.resolve("server"));
        site.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        server = new EngineServer(site, "127.0.0.1", 0);
        password = Files.readString(folder.resolve("token")).strip();
        Files.writeString(folder.resolve("in.txt"), "b a b\n");
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    private HttpResponse<String> ask(String url, String secret, String form) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
        if (secret != null) {
            String pair = Base64.getEncoder().encodeToString(("me:" + secret).getBytes(StandardCharsets.UTF_8));
            request.header("Authorization", "Basic " + pair);
        }
        if (form != null) {
            request.POST(HttpRequest.BodyPublishers.ofString(form));
        }
        return browser.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private String shown(String url) throws Exception {
        HttpResponse<String> answer = ask(url, password, null);
        assertEquals(200, answer.statusCode(), url);
        return answer.body();
    }

    private Job job(String name) throws IOException {
        Configuration conf = Engines.TEGULA.conf(folder.resolve("client"));
        conf.set(Settings.SERVER_TOKEN_FILE, folder.resolve("token").toString());
        conf.set(Settings.SERVER_ADDRESS, "127.0.0.1:" + server.address().getPort());
        Job job = Jobs.wordCount(conf, folder.resolve("in.txt"), folder.resolve(name));
        job.setJobName("<b>" + name);
        return job;
    }

    @Test
    void answersNobodyWithoutTheSecret() throws Exception {
        for (String path : new String[] {"", "log", "job/job_1_0001", "nothing"}) {
            assertEquals(401, ask(server.page() + path, null, null).statusCode());
            assertEquals(401, ask(server.page() + path, password + "0", null).statusCode());
        }
        assertTrue(server.page().startsWith("http://127.0.0.1:"), server.page());
        assertEquals(404, ask(server.page() + "nothing", password, null).statusCode());
        assertEquals(404, ask(server.page() + "job/job_1_0001", password, null).statusCode());
    }

    @Test
    void showsJobsWithTheirTasksAndCountersAndWhatIsKept() throws Exception {
        Job job = job("counted");
        assertTrue(job.waitForCompletion(false));
        String url = job.getTrackingURL();
        assertEquals(server.page() + "job/" + job.getJobID(), url);
        String jobs = shown(server.page());
        assertTrue(jobs.contains("<a href=\"/job/" + job.getJobID() + "\">"), jobs);
        assertTrue(jobs.contains("SUCCEEDED") && jobs.contains("&lt;b&gt;counted") && !jobs.contains("<b>"), jobs);
        assertTrue(jobs.contains("in.txt"), "the kept pairs of its input: " + jobs);
        assertTrue(jobs.contains(" hits, ") && jobs.contains("Heap"), jobs);
        String page = shown(url);
        assertTrue(page.contains("task_" + job.getJobID().toString().substring(4) + "_m_000000"), page);
        assertTrue(page.contains("<tr><td>Reduce output records<td>2\n"), page);
        assertFalse(page.contains("Kill the job"), page);
    }

    @Test
    void showsFilesThatAreInMemoryAlone() throws Exception {
        Job job = job("temp-counts");
        job.getConfiguration().set("fs.file.impl", CachedLocalFileSystem.class.getName());
        job.getConfiguration().setBoolean("fs.file.impl.disable.cache", true);
        assertTrue(job.waitForCompletion(false));
        String page = shown(server.page());
        assertTrue(page.contains("<td>8 B<td>" + folder.resolve("temp-counts/part-r-00000")), page);
    }

    @Test
    void killsAJobForItsOwnFormAlone() throws Exception {
        Job job = job("killed");
        job.setMapperClass(ClientProgram.Endless.class);
        job.submit();
        String url = job.getTrackingURL();
        String page = shown(url);
        Matcher form = Pattern.compile("name=\"form\" value=\"([0-9a-f]+)\"").matcher(page);
        assertTrue(form.find(), page);
        assertFalse(page.contains(password), "the secret itself is on no page");
        assertEquals(403, ask(url + "/kill", password, "form=0").statusCode());
        assertEquals(403, ask(url + "/kill", password, null).statusCode());
        assertFalse(job.isComplete());
        assertEquals(303, ask(url + "/kill", password, "form=" + form.group(1)).statusCode());
        assertFalse(job.waitForCompletion(false));
        assertEquals(JobStatus.State.KILLED, job.getStatus().getState());
        assertTrue(shown(server.page() + "log").contains(job.getJobID() + " is killed from the page"));
    }

    @Test
    void saysThatItsPortIsTaken() {
        site.setInt(Settings.SERVER_PAGE_PORT, URI.create(server.page()).getPort());
        String why = assertThrows(IOException.class, () -> new EngineServer(site, "127.0.0.1", 0))
                .getMessage();
        assertTrue(why.contains("set tegula.server.page.port to a port that is free"), why);
    }
}
