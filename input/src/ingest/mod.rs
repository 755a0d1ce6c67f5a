//! Ingest: bytes into reused buffers, cut at records. Two ways: from files and memory each worker
//! reads its own split into its own buffer just before it maps it, so the bytes are in its cache, or,
//! where reads wait, readers run ahead of the workers into a fixed set of buffers; a stream has one
//! such reader.

mod ahead;
mod blocked;
mod direct;
mod feed;
mod intake;
mod reader;
mod readers;
mod stream;
mod tiles;

pub use ahead::AheadTotals;
pub use feed::{Feed, Means};
pub use intake::{Intake, Take, Taken};
pub use reader::{APART_BYTES, PAGE_BYTES, Reader, apart};
pub use readers::{Readers, Seen};
