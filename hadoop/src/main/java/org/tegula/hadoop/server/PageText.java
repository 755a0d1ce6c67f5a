package org.tegula.hadoop.server;

import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.CounterGroup;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.util.StringUtils;
import org.tegula.hadoop.cache.PairCache;
import org.tegula.hadoop.engine.Engine;
import org.tegula.hadoop.files.CachedFileSystem;
import org.tegula.hadoop.files.HeldFileSystem;
import org.tegula.hadoop.job.Job;
import org.tegula.hadoop.place.PlaceState;

/** The text of the server's page, as HTML without scripts. Names from programs are escaped. */
final class PageText {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss").withZone(ZoneId.systemDefault());
    private static final int MOST_TASKS = 1000;

    private final Engine engine;
    private final PageLog log;
    private final String formToken;

    PageText(Engine engine, PageLog log, String formToken) {
        this.engine = engine;
        this.log = log;
        this.formToken = formToken;
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    private static String page(String title, String body) {
        return "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>" + escaped(title)
                + "</title><style>body{font:14px sans-serif;margin:2em}td,th{text-align:left;padding:.1em 1em .1em 0}"
                + "pre{white-space:pre-wrap}</style><p><a href=\"/\">Jobs</a> <a href=\"/log\">Log</a></p><h1>"
                + escaped(title) + "</h1>" + body + "</html>\n";
    }

    private static String row(String tag, Object... cells) {
        StringBuilder row = new StringBuilder("<tr>");
        for (Object each : cells) {
            row.append('<').append(tag).append('>').append(escaped(each.toString()));
        }
        return row.append('\n').toString();
    }

    private static String size(long bytes) {
        return StringUtils.TraditionalBinaryPrefix.long2String(bytes, "B", 1);
    }

    private static String time(long millis) {
        return millis == 0 ? "" : TIME.format(Instant.ofEpochMilli(millis));
    }

    private static String percent(float part) {
        return Math.round(100 * part) + "%";
    }

    /** Returns all known jobs, the newest first, and the engine's data in memory. */
    String jobs() {
        PairCache cache = engine.cache();
        Runtime jvm = Runtime.getRuntime();
        StringBuilder body = new StringBuilder("<table>");
        body.append(row(
                "td", "Slots", engine.slots().used() + " of " + engine.slots().count() + " in use"));
        body.append(row(
                "td", "Heap", size(jvm.totalMemory() - jvm.freeMemory()) + " of " + size(jvm.maxMemory()) + " in use"));
        body.append(row(
                "td",
                "Map output in memory",
                size(engine.memory().usedBytes()) + " of "
                        + size(engine.memory().limitBytes())));
        body.append(row(
                "td",
                "Cache",
                size(cache.usedBytes()) + " of " + size(cache.limitBytes()) + ", " + cache.hits() + " hits, "
                        + cache.misses() + " misses"));
        body.append("</table>")
                .append(places())
                .append("<h2>Jobs</h2><table>")
                .append(row("th", "Job", "State", "User", "Begun", "Ended", "Maps", "Reduces", "Name"));
        List<Job> jobs = engine.jobs();
        Collections.reverse(jobs);
        for (Job each : jobs) {
            JobStatus status = each.status();
            String id = status.getJobID().toString();
            body.append(row(
                            "td",
                            id,
                            status.getState(),
                            status.getUsername(),
                            time(status.getStartTime()),
                            time(status.getFinishTime()),
                            percent(status.getMapProgress()),
                            percent(status.getReduceProgress()),
                            status.getJobName())
                    .replace("<td>" + id + "<td>", "<td><a href=\"/job/" + id + "\">" + id + "</a><td>"));
        }
        body.append("</table><h2>Kept files</h2><table>").append(row("th", "Size", "Pairs", "User", "Path"));
        for (PairCache.Kept each : cache.kept()) {
            body.append(row("td", size(each.bytes()), each.pairs(), each.user(), each.name()));
        }
        body.append("</table><h2>Files in memory alone</h2><table>").append(row("th", "Size", "Path"));
        Map<String, Long> held = new TreeMap<>(HeldFileSystem.sizes());
        held.putAll(CachedFileSystem.sizes());
        held.forEach((name, bytes) -> body.append(row("td", size(bytes), name)));
        return page("Tegula's server for Hadoop jobs", body.append("</table>").toString());
    }

    /** The JVMs of places; empty if this JVM is the only one. */
    private String places() {
        Map<String, PlaceState> states = engine.places().states();
        if (states.isEmpty()) {
            return "";
        }
        StringBuilder body = new StringBuilder("<h2>Places</h2><table>");
        body.append(row("th", "Place", "Heap in use", "Cache", "Hits", "Misses"));
        states.forEach((name, state) -> body.append(row(
                "td",
                name,
                size(state.heapBytes()) + " of " + size(state.heapLimitBytes()),
                size(state.cachedBytes()) + " of " + size(state.cacheLimitBytes()),
                state.hits(),
                state.misses())));
        return body.append("</table>").toString();
    }

    /** One job: its stages, its tasks, its counters. */
    String job(Job job) {
        JobStatus status = job.status();
        StringBuilder body = new StringBuilder("<table>");
        body.append(row("td", "Name", status.getJobName()));
        body.append(row("td", "State", status.getState() + " " + status.getFailureInfo()));
        body.append(row("td", "User", status.getUsername()));
        body.append(row("td", "Begun", time(status.getStartTime())));
        body.append(row("td", "Ended", time(status.getFinishTime())));
        body.append("</table>");
        if (!status.isJobComplete()) {
            body.append("<form method=\"post\" action=\"/job/" + status.getJobID()
                    + "/kill\"><input type=\"hidden\" name=\"form\" value=\"" + formToken
                    + "\"><button>Kill the job</button></form>");
        }
        body.append("<h2>Stages</h2><table>").append(row("th", "Stage", "Tasks", "Done"));
        List<TaskReport> tasks = new ArrayList<>();
        for (TaskType type : new TaskType[] {TaskType.MAP, TaskType.REDUCE}) {
            TaskReport[] reports = job.reports(type);
            float done = type == TaskType.MAP ? status.getMapProgress() : status.getReduceProgress();
            body.append(row("td", type, reports.length, percent(done)));
            tasks.addAll(List.of(reports));
        }
        body.append("</table><h2>Tasks</h2><table>")
                .append(row("th", "Task", "State", "Done", "Begun", "Ended", "Says"));
        for (TaskReport each : tasks.subList(0, Math.min(tasks.size(), MOST_TASKS))) {
            body.append(row(
                    "td",
                    each.getTaskID(),
                    each.getCurrentStatus(),
                    percent(each.getProgress()),
                    time(each.getStartTime()),
                    time(each.getFinishTime()),
                    each.getState() + " " + String.join(" ", each.getDiagnostics())));
        }
        body.append("</table>");
        if (tasks.size() > MOST_TASKS) {
            body.append("<p>and " + (tasks.size() - MOST_TASKS) + " more</p>");
        }
        body.append("<h2>Counters</h2><table>");
        for (CounterGroup group : job.counters()) {
            body.append(row("th", group.getDisplayName(), ""));
            for (Counter each : group) {
                body.append(row("td", each.getDisplayName(), each.getValue()));
            }
        }
        return page(status.getJobID().toString(), body.append("</table>").toString());
    }

    /** The last lines of the log. */
    String log() {
        return page("Log", "<pre>" + escaped(String.join("\n", log.lines())) + "</pre>");
    }
}
