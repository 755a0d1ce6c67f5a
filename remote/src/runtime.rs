//! The one place that runs asynchronous code: a small runtime, made when it is first needed. The engine's
//! threads wait for it; it never calls into the engine.

use std::io;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// Threads that drive connections; a waiting thread polls its own request itself.
const MOST_THREADS: usize = 4;

/// Waits for the result of a request.
///
/// # Errors
/// The system's, if no threads can be had.
pub(crate) fn block_on<F: Future>(request: F) -> io::Result<F::Output> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Builder::new_multi_thread()
            .worker_threads(threads.min(MOST_THREADS))
            .thread_name("tegula-remote")
            .enable_all()
            .build()
    });
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(request)),
        Err(cause) => Err(io::Error::new(cause.kind(), cause.to_string())),
    }
}
