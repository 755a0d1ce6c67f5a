//! Threads that work beside their caller.

use crate::timeline::Context;
use std::io;

/// Does `work(number)` for each name on a thread of that name, while the caller does `meanwhile`; returns when all
/// have ended. `cannot` is told, before `meanwhile` begins, of each thread that cannot be started. The threads are in
/// the caller's lanes of the timeline. `work` must not panic.
pub fn beside(
    names: &[String],
    work: &(dyn Fn(usize) + Sync),
    cannot: &mut dyn FnMut(usize, io::Error),
    meanwhile: &mut dyn FnMut(),
) {
    let context = &Context::here();
    std::thread::scope(|scope| {
        for (number, name) in names.iter().enumerate() {
            let serve = move || {
                let _entered = context.enter();
                work(number);
            };
            let thread = std::thread::Builder::new().name(name.clone());
            if let Err(cause) = thread.spawn_scoped(scope, serve) {
                cannot(number, cause);
            }
        }
        meanwhile();
    });
}
