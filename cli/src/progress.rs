//! Shows a job's progress on standard error, from a thread of its own that only reads counters.

use crate::flags::Show;
use crate::size;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tegula::{Progress, ProgressReading};

/// A display of progress; dropping it ends the display and clears a bar.
pub(crate) struct Shown {
    /// Dropped to tell the thread to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Shows `progress` in the way asked for. Where no thread can be had, the run goes on unwatched.
pub(crate) fn show(progress: Arc<Progress>, show: Show) -> Option<Shown> {
    let (every, mut display) = match show {
        Show::Off => return None,
        Show::Auto if !std::io::stderr().is_terminal() => return None,
        Show::Auto => (Duration::from_millis(100), Display::Bar(bar())),
        Show::Plain => (Duration::from_secs(1), Display::Plain),
        Show::Json => (Duration::from_secs(1), Display::Json),
    };
    let (stop, stopped) = mpsc::channel::<()>();
    let begin = Instant::now();
    let watch = move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            display.tick(progress.read(), begin.elapsed());
        }
        display.end(progress.read(), begin.elapsed());
    };
    let thread = thread::Builder::new().name("progress".to_owned()).spawn(watch).ok()?;
    Some(Shown { stop: Some(stop), thread: Some(thread) })
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Display {
    Bar(ProgressBar),
    Plain,
    Json,
}

impl Display {
    fn tick(&mut self, reading: ProgressReading, elapsed: Duration) {
        // A closed standard error takes nothing away from the job.
        match self {
            Display::Bar(bar) => {
                bar.set_length(reading.bytes_planned.max(reading.bytes_done).max(1));
                bar.set_position(reading.bytes_done);
                bar.set_message(format!("{:<6} {}", reading.stage.name(), text(reading, elapsed)));
            }
            Display::Plain => {
                let text = text(reading, elapsed);
                let _ = writeln!(
                    std::io::stderr(),
                    "{:6.1} s  {:<6}  {text}",
                    elapsed.as_secs_f64(),
                    reading.stage.name()
                );
            }
            Display::Json => {
                let _ = writeln!(std::io::stderr(), "{}", json(reading, elapsed));
            }
        }
    }

    /// The last reading is shown even of a run shorter than a tick, but no bar stays.
    fn end(&mut self, reading: ProgressReading, elapsed: Duration) {
        match self {
            Display::Bar(bar) => bar.finish_and_clear(),
            Display::Plain | Display::Json => self.tick(reading, elapsed),
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(10));
    // The template is fixed, so it can only be right; the plain style stands in if it were not.
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {wide_msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// `12.00 MiB of 1.00 GiB, 512.00 MiB/s, 1234 keys`
fn text(reading: ProgressReading, elapsed: Duration) -> String {
    let planned = match reading.bytes_planned {
        0 => String::new(),
        bytes => format!(" of {}", size::show(bytes)),
    };
    let rate = size::show((reading.bytes_done as f64 / elapsed.as_secs_f64().max(1e-9)) as u64);
    format!("{}{planned}, {rate}/s, {} keys", size::show(reading.bytes_done), reading.keys_held)
}

fn json(reading: ProgressReading, elapsed: Duration) -> serde_json::Value {
    serde_json::json!({
        "elapsed_s": elapsed.as_secs_f64(),
        "stage": reading.stage.name(),
        "bytes_planned": reading.bytes_planned,
        "bytes_done": reading.bytes_done,
        "files_planned": reading.files_planned,
        "keys_held": reading.keys_held,
    })
}
