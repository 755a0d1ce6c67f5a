//! `TEGULA_LOG`: what the engine says through `tracing`, printed on standard error. Nothing listens
//! without it, and then nothing is said.

use std::env;
use std::io;
use tegula::{Error, Result};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

const NAME: &str = "TEGULA_LOG";

/// Begins to print what the variable names: levels, or targets with levels.
pub(crate) fn start() -> Result<()> {
    let Some(wanted) = env::var_os(NAME).filter(|wanted| !wanted.is_empty()) else {
        return Ok(());
    };
    let fault = |cause: String| Error::Option {
        option: NAME,
        cause: format!(
            "{cause}; write a level (info, debug, trace) or targets with levels (tegula::stage=debug)"
        ),
    };
    let targets = wanted.to_string_lossy().parse::<Targets>();
    let targets = targets.map_err(|cause| fault(cause.to_string()))?;
    // A span is a line when it ends, with how long it took.
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_thread_names(true);
    let started = tracing_subscriber::registry().with(lines).with(targets).try_init();
    started.map_err(|cause| fault(cause.to_string()))
}
