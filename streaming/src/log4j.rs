//! What Hadoop's own client says of a job, in the form of log4j: programs that started a job read it by these very lines.

use crate::failure::TaskFailed;
use crate::run::Report;
use crate::shell::date;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use tegula::{Error, Progress, Stage};

/// The lines about one job.
pub struct Log<W> {
    out: W,
    /// The percentages of map and reduce that were told last.
    told: Option<(u64, u64)>,
}

impl<W> std::fmt::Debug for Log<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("told", &self.told).finish_non_exhaustive()
    }
}

const JOB: &str = "mapreduce.Job";
const STREAMING: &str = "streaming.StreamJob";

impl<W: Write> Log<W> {
    /// Returns a log that is written to `out`.
    pub fn new(out: W) -> Log<W> {
        Log { out, told: None }
    }

    /// Tells that a job runs.
    pub fn began(&mut self, job: &str) {
        self.line("INFO", JOB, &format!("Running job: {job}"));
    }

    /// Tells how far it is, if that has changed.
    pub fn progress(&mut self, progress: &Progress) {
        let reading = progress.read();
        let map = match reading.stage {
            Stage::Plan => 0,
            Stage::Map => {
                (100 * reading.bytes_done).checked_div(reading.bytes_planned).unwrap_or(0).min(100)
            }
            _ => 100,
        };
        self.percentages(map, 0);
    }

    /// Tells that a job is done, and what it has counted. `output` is the name of its answer.
    pub fn done(&mut self, report: &Report, output: &str) {
        self.percentages(100, 100);
        self.line("INFO", JOB, &format!("Job {} completed successfully", report.job_id));
        self.line("INFO", JOB, report.counters.to_string().trim_end());
        self.line("INFO", STREAMING, &format!("Output directory: {output}"));
    }

    /// Tells that a job has failed.
    pub fn failed(&mut self, error: &Error) {
        let task = match error {
            Error::Record { cause, .. } => cause.downcast_ref::<TaskFailed>(),
            _ => None,
        };
        if let Some(task) = task {
            let said = String::from_utf8_lossy(task.last_words());
            let text =
                format!("Task Id : {}, Status : FAILED\nError: {error}\n{said}", task.attempt());
            self.line("INFO", JOB, text.trim_end());
        }
        self.line("ERROR", STREAMING, "Job not successful!");
        let message = format!("Error Launching job : {error}");
        if task.is_none() {
            self.line("ERROR", STREAMING, &message);
        }
        self.write("Streaming Command Failed!\n");
    }

    fn percentages(&mut self, map: u64, reduce: u64) {
        if self.told.replace((map, reduce)) != Some((map, reduce)) {
            self.line("INFO", JOB, &format!(" map {map}% reduce {reduce}%"));
        }
    }

    /// Writes `26/11/25 06:18:50 INFO mapreduce.Job: message`.
    fn line(&mut self, level: &str, logger: &str, message: &str) {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let time =
            format!("{:02}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}", year % 100);
        self.write(&format!("{time} {level} {logger}: {message}\n"));
    }

    fn write(&mut self, text: &str) {
        // Nobody can be told that standard error is closed.
        let _ = self.out.write_all(text.as_bytes());
    }
}
