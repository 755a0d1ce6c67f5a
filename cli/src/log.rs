//! `TEGULA_LOG`: prints the engine's `tracing` events on standard error. Without the variable nothing
//! listens, and events cost nothing.

use std::env;
use std::ffi::OsString;
use tegula::{Error, Result};

const NAME: &str = "TEGULA_LOG";

/// Begins to print the levels and targets that the variable names.
pub(crate) fn start() -> Result<()> {
    match env::var_os(NAME).filter(|wanted| !wanted.is_empty()) {
        Some(wanted) => print(&wanted),
        None => Ok(()),
    }
}

#[cfg(feature = "log")]
fn print(wanted: &OsString) -> Result<()> {
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::fmt::format::FmtSpan;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;

    let fault = |cause: String| Error::Option {
        option: NAME,
        cause: format!(
            "{cause}; write a level (info, debug, trace) or targets with levels (tegula::stage=debug)"
        ),
    };
    let targets = wanted.to_string_lossy().parse::<Targets>();
    let targets = targets.map_err(|cause| fault(cause.to_string()))?;
    // A span is one line, printed when it ends, with its duration.
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_thread_names(true);
    let started = tracing_subscriber::registry().with(lines).with(targets).try_init();
    started.map_err(|cause| fault(cause.to_string()))
}

#[cfg(not(feature = "log"))]
fn print(_: &OsString) -> Result<()> {
    Err(Error::Option { option: NAME, cause: crate::built_without("a log", "log") })
}
