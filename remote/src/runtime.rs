//! The one place that runs asynchronous code: a small runtime, made when it is first needed. The engine's
//! threads wait for it; it never calls into the engine. A forked child has none of the runtime's threads, so it makes
//! one of its own.

use std::io;
use std::mem;
use std::process;
use std::sync::Arc;
use tegula_machine::sync::Mutex;
use tokio::runtime::{Builder, Runtime};

/// Threads that drive connections; a waiting thread polls its own request itself.
const MOST_THREADS: usize = 4;

/// Waits for the result of a request.
///
/// # Errors
/// The system's, if no threads can be had.
pub(crate) fn block_on<F: Future>(request: F) -> io::Result<F::Output> {
    Ok(runtime()?.block_on(request))
}

/// Returns the runtime of this process.
fn runtime() -> io::Result<Arc<Runtime>> {
    static OF_PROCESS: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);
    let mut of_process = OF_PROCESS.lock();
    match &*of_process {
        Some((id, runtime)) if *id == process::id() => return Ok(Arc::clone(runtime)),
        _ => {}
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads.min(MOST_THREADS))
        .thread_name("tegula-remote")
        .enable_all()
        .build()?;
    let runtime = Arc::new(runtime);
    // To drop the parent's would be to wait for threads that are not there.
    mem::forget(of_process.replace((process::id(), Arc::clone(&runtime))));
    Ok(runtime)
}
