//! Shows the progress of a command on standard error, from a thread of its own that only reads counters.

use crate::flags::Show;
use crate::size;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tegula::ProgressReading;

/// A display of progress. Dropping it ends the display and clears the bar.
pub(crate) struct Shown {
    /// Dropped to tell the thread to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Shows the readings of `read`, in the form that the user chose. If no thread can be started, nothing is
/// shown.
pub(crate) fn show(
    read: impl Fn() -> ProgressReading + Send + 'static,
    show: Show,
) -> Option<Shown> {
    let (every, mut display) = match show {
        Show::Off => return None,
        Show::Auto if !std::io::stderr().is_terminal() => return None,
        #[cfg(feature = "bar")]
        Show::Auto => (Duration::from_millis(100), Display::Bar(bar::Bar::new())),
        #[cfg(not(feature = "bar"))]
        Show::Auto => return None,
        Show::Plain => (Duration::from_secs(1), Display::Plain),
        Show::Json => (Duration::from_secs(1), Display::Json),
    };
    let (stop, stopped) = mpsc::channel::<()>();
    let begin = Instant::now();
    let watch = move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            display.tick(read(), begin.elapsed());
        }
        display.end(read(), begin.elapsed());
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
    #[cfg(feature = "bar")]
    Bar(bar::Bar),
    Plain,
    Json,
}

impl Display {
    fn tick(&mut self, reading: ProgressReading, elapsed: Duration) {
        // A closed standard error does not change the job.
        match self {
            #[cfg(feature = "bar")]
            Display::Bar(bar) => bar.draw(&reading),
            Display::Plain => {
                let text = text(&reading);
                let _ = writeln!(
                    std::io::stderr(),
                    "{:6.1} s  {:<6}  {text}",
                    elapsed.as_secs_f64(),
                    reading.stage.name()
                );
            }
            Display::Json => {
                let _ = writeln!(std::io::stderr(), "{}", json(&reading, elapsed));
            }
        }
    }

    /// Shows the last reading, also of a run shorter than a tick; clears the bar.
    fn end(&mut self, reading: ProgressReading, elapsed: Duration) {
        match self {
            #[cfg(feature = "bar")]
            Display::Bar(bar) => bar.clear(),
            Display::Plain | Display::Json => self.tick(reading, elapsed),
        }
    }
}

/// Formats `12.00 MiB of 1.00 GiB, 512.00 MiB/s, 0:02 left, 1234 keys, 80.00 MiB of 1.00 GiB memory`
pub fn text(reading: &ProgressReading) -> String {
    let of =
        |limit: Option<u64>| limit.map_or(String::new(), |of| format!(" of {}", size::show(of)));
    let planned = of(Some(reading.bytes_planned).filter(|&bytes| bytes > 0));
    let mut text = format!("{}{planned}", size::show(reading.bytes_done));
    if !reading.mapping.is_zero() {
        text.push_str(&format!(", {}/s", size::show(reading.bytes_per_second() as u64)));
    }
    if let Some(left) = reading.time_left() {
        text.push_str(&format!(", {} left", clock(left)));
    }
    let (memory, limit) = (size::show(reading.memory_bytes), of(reading.memory_limit_bytes));
    text.push_str(&format!(", {} keys, {memory}{limit} memory", reading.keys_held));
    text
}

/// Formats `0:07`, `12:30`, `3:00:05`; a part of a second counts as one.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Returns the same for programs.
pub fn json(reading: &ProgressReading, elapsed: Duration) -> serde_json::Value {
    serde_json::json!({
        "elapsed_s": elapsed.as_secs_f64(),
        "stage": reading.stage.name(),
        "bytes_planned": reading.bytes_planned,
        "bytes_done": reading.bytes_done,
        "bytes_per_s": reading.bytes_per_second(),
        "left_s": reading.time_left().map(|left| left.as_secs_f64()),
        "files_planned": reading.files_planned,
        "keys_held": reading.keys_held,
        "memory_bytes": reading.memory_bytes,
        "memory_limit_bytes": reading.memory_limit_bytes,
        "spilled_bytes": reading.spilled_bytes,
    })
}

#[cfg(feature = "bar")]
mod bar {
    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
    use tegula::ProgressReading;

    /// A bar on a terminal.
    pub(super) struct Bar(ProgressBar);

    impl Bar {
        pub(super) fn new() -> Bar {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(1), target);
            // The template is a constant that is right; were it wrong, the bar would have the plain style.
            if let Ok(style) = ProgressStyle::with_template("[{bar:20}] {wide_msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            Bar(bar)
        }

        pub(super) fn draw(&self, reading: &ProgressReading) {
            self.0.set_length(reading.bytes_planned.max(reading.bytes_done).max(1));
            self.0.set_position(reading.bytes_done);
            self.0.set_message(format!("{:<6} {}", reading.stage.name(), super::text(reading)));
        }

        pub(super) fn clear(&self) {
            self.0.finish_and_clear();
        }
    }
}
