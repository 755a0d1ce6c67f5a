//! Schedule: one pool of pinned workers that serves all stages of all jobs (Ostrich, section 5), and the
//! lock-free sources of their work (Metis, section 4): splits of tiles by group, other pieces from a counter.
//!
//! [`HandOut`] is public so that a simulation can drive it over machines that do not exist; a job needs none
//! of it. It knows nothing of time, threads or data: any caller of `take` is a worker.
//!
//! Tiles overlap: a worker that has nothing left of one tile begins the next while another worker still
//! combines. `Pipeline::Off` shows the gain: all workers end a tile, hand over and wait for each other.

mod beside;
mod cursor;
mod each;
mod hand_out;
mod per_worker;
mod placement;
mod pool;
mod share;
mod sync;

pub use beside::beside;
pub use cursor::Cursor;
pub use each::for_each;
pub use hand_out::{GroupShare, HandOut};
pub use per_worker::PerWorker;
pub use placement::Placement;
pub use pool::{Pool, Step};
pub use share::Share;
