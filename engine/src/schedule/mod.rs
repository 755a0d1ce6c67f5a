//! Schedule: one pool of pinned workers that serves all stages of all jobs (Ostrich, section 5), and
//! the counter by which workers take what is next without a lock (Metis, section 4).

mod cursor;
mod hand_out;
mod per_worker;
mod pool;
mod sync;

pub(crate) use cursor::Cursor;
pub(crate) use hand_out::HandOut;
pub(crate) use per_worker::PerWorker;
pub(crate) use pool::{Pool, Step};
