//! `tegula submit`, `ps`, `logs`, `wait`, `cancel` and `again`: jobs of a server, from the command line.

use crate::client::{Server, ServerFlags, fault};
use crate::progress;
use crate::{exit, size};
use clap::Args;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use tegula::output::AtomicFile;
use tegula::{Error, OutputError, Result};

/// How often a job that runs is looked at: seldom if it takes long.
const LOOK_FIRST: Duration = Duration::from_millis(10);
const LOOK_LAST: Duration = Duration::from_millis(500);
/// The summaries that are asked for at a time; a server gives no more.
const PAGE_JOBS: usize = 1000;

#[derive(Args)]
pub(crate) struct Flags {
    /// A line for people [default: the command].
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Jobs of a higher priority begin first; -100 to 100.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,

    /// The limit on the job's memory [default: the server's memory, divided by the jobs that run at once].
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,

    /// Cores without which the job does not begin.
    #[arg(long, value_name = "N", value_parser = crate::flags::count)]
    least: Option<usize>,

    /// Cores that the job may use [default: all].
    #[arg(long, value_name = "N", value_parser = crate::flags::count)]
    most: Option<usize>,

    /// Wait until the job is over, write its answer to standard output, and end with its exit code.
    #[arg(long)]
    wait: bool,

    /// The command line of the job, after --: wordcount --words alpha books.
    #[arg(required = true, value_name = "COMMAND", last = true)]
    command: Vec<String>,

    #[command(flatten)]
    server: ServerFlags,
}

/// Submits a job, and prints its number.
pub(crate) fn run(flags: &Flags) -> Result<()> {
    let server = flags.server.open()?;
    let here = std::env::current_dir();
    let here = here.map_err(|cause| Error::System { action: "find the current folder", cause })?;
    let mut request = json!({
        "command": flags.command, "folder": here.to_string_lossy(), "priority": flags.priority,
    });
    for (name, value) in [
        ("name", flags.name.as_ref().map(|name| json!(name))),
        ("memory_bytes", flags.memory.map(|bytes| json!(bytes))),
        ("least", flags.least.map(|cores| json!(cores))),
        ("most", flags.most.map(|cores| json!(cores))),
    ] {
        if let (Some(value), Some(request)) = (value, request.as_object_mut()) {
            request.insert(name.to_owned(), value);
        }
    }
    let id = id_of(&server.json("POST", "/api/jobs", Some(&request))?)?;
    if flags.wait { wait_for(&server, id, None) } else { print(format!("{id}\n").as_bytes()) }
}

fn id_of(reply: &Value) -> Result<u64> {
    reply["id"].as_u64().ok_or_else(|| fault("the server's answer has no number of a job"))
}

#[derive(Args)]
pub(crate) struct PsFlags {
    /// Jobs that are over, too.
    #[arg(short, long)]
    all: bool,

    /// Print JSON, as the server gives it.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    server: ServerFlags,
}

/// Lists jobs.
pub(crate) fn ps(flags: &PsFlags) -> Result<()> {
    let jobs = listed(&flags.server.open()?, flags.all)?;
    if flags.json {
        return print(format!("{:#}\n", json!({ "jobs": jobs, "next": null })).as_bytes());
    }
    let mut text = format!(
        "{:>6}  {:<9}  {:<10}  {:>8}  {:>6}  {:<9}  NAME\n",
        "ID", "STATE", "USER", "TIME", "DONE", "CORES"
    );
    for job in &jobs {
        let text_of = |name: &str| job[name].as_str().unwrap_or("-").to_owned();
        let (done, planned) = (&job["progress"]["bytes_done"], &job["progress"]["bytes_planned"]);
        let part = done.as_f64().zip(planned.as_f64().filter(|&planned| planned > 0.0));
        let part = part
            .map_or("-".to_owned(), |(done, planned)| format!("{:.0} %", 100.0 * done / planned));
        let time = Duration::try_from_secs_f64(job["elapsed_s"].as_f64().unwrap_or(0.0));
        text.push_str(&format!(
            "{:>6}  {:<9}  {:<10}  {:>8}  {:>6}  {:<9}  {}\n",
            job["id"].to_string(),
            text_of("state"),
            text_of("user"),
            progress::clock(time.unwrap_or_default()),
            part,
            text_of("cores"),
            text_of("name"),
        ));
    }
    print(text.as_bytes())
}

/// Returns the summaries of all jobs, or of those that are not over, the newest first. They come in pages.
fn listed(server: &Server, has_over: bool) -> Result<Vec<Value>> {
    let states = if has_over { "" } else { "&state=queued,running" };
    let (mut jobs, mut before) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/jobs?count={PAGE_JOBS}{states}{before}");
        let mut page = server.json("GET", &path, None)?;
        if let Value::Array(more) = page["jobs"].take() {
            jobs.extend(more);
        }
        match page["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => return Ok(jobs),
        }
    }
}

/// The number of a job.
#[derive(Args)]
pub(crate) struct JobFlags {
    /// The number of the job.
    #[arg(value_name = "ID")]
    id: u64,

    #[command(flatten)]
    server: ServerFlags,
}

#[derive(Args)]
pub(crate) struct LogsFlags {
    /// Go on until the job is over.
    #[arg(short, long)]
    follow: bool,

    #[command(flatten)]
    job: JobFlags,
}

/// Prints what a job has said on standard error.
pub(crate) fn logs(flags: &LogsFlags) -> Result<()> {
    let (server, id) = (flags.job.server.open()?, flags.job.id);
    let (mut from, mut pause) = (0, LOOK_FIRST);
    loop {
        // Asked for first: what a job says before it is over comes with it.
        let job = server.json("GET", &format!("/api/jobs/{id}"), None)?;
        let reply = server.ask("GET", &format!("/api/jobs/{id}/log?from={from}"), None)?;
        print(&reply.body)?;
        let next = reply.field("tegula-next").and_then(|next| next.parse().ok()).unwrap_or(from);
        let is_over = is_over(&job) && next == from;
        if !flags.follow && reply.body.is_empty() || is_over {
            return Ok(());
        }
        pause = if next > from { LOOK_FIRST } else { (pause * 2).min(LOOK_LAST) };
        from = next;
        if reply.body.is_empty() {
            thread::sleep(pause);
        }
    }
}

#[derive(Args)]
pub(crate) struct WaitFlags {
    /// Write the answer to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    job: JobFlags,
}

/// Waits for a job, writes its answer, and ends with its exit code.
pub(crate) fn wait(flags: &WaitFlags) -> Result<()> {
    wait_for(&flags.job.server.open()?, flags.job.id, flags.output.as_ref())
}

/// Cancels a job.
pub(crate) fn cancel(flags: &JobFlags) -> Result<()> {
    flags.server.open()?.ask("DELETE", &format!("/api/jobs/{}", flags.id), None).map(|_| ())
}

/// Submits the command of a job once more, and prints the number of the new one.
pub(crate) fn again(flags: &JobFlags) -> Result<()> {
    let path = format!("/api/jobs/{}/again", flags.id);
    let id = id_of(&flags.server.open()?.json("POST", &path, None)?)?;
    print(format!("{id}\n").as_bytes())
}

fn is_over(job: &Value) -> bool {
    !matches!(job["state"].as_str(), Some("queued" | "running"))
}

fn wait_for(server: &Server, id: u64, output: Option<&PathBuf>) -> Result<()> {
    let mut pause = LOOK_FIRST;
    let job = loop {
        let job = server.json("GET", &format!("/api/jobs/{id}"), None)?;
        if is_over(&job) {
            break job;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LOOK_LAST);
    };
    if job["state"] != "done" {
        let message = job["message"].as_str().unwrap_or("it was cancelled");
        exit::say(&format!("job {id}: {message}"));
        let code = job["code"].as_i64().and_then(|code| i32::try_from(code).ok());
        let code = code.filter(|&code| code != 0);
        let cancelled = i32::from(exit::INTERRUPTED);
        let default = if job["state"] == "cancelled" { cancelled } else { 1 };
        std::process::exit(code.unwrap_or(default));
    }
    let Some(path) = output else {
        return each_part(server, id, &mut print);
    };
    let mut file = AtomicFile::create(path)?;
    each_part(server, id, &mut |part| {
        let written = file.write_all(part);
        written.map_err(|cause| OutputError::Write { path: path.clone(), cause }.into())
    })?;
    Ok(file.commit()?)
}

/// Gets an answer in parts, which fit in memory.
fn each_part(server: &Server, id: u64, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut from = 0_u64;
    loop {
        let path = format!("/api/jobs/{id}/answer?from={from}&count={}", u32::MAX);
        let reply = server.ask("GET", &path, None)?;
        take(&reply.body)?;
        let next = reply.field("tegula-next").and_then(|next| next.parse().ok());
        match next {
            Some(next) if next > from => from = next,
            _ => return Ok(()),
        }
    }
}

fn print(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|cause| OutputError::from_write("standard output", cause).into())
}
