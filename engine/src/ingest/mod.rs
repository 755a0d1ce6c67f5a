//! Ingest: bytes into reused buffers, cut at records. Two ways: from files and memory each worker
//! reads its own split into its own buffer just before it maps it, so the bytes are in its cache; a
//! stream has one reader, which runs ahead of the workers into a fixed set of buffers.

mod buffer;
mod reader;
mod stream;

pub(crate) use buffer::Buffer;
pub(crate) use reader::{Reader, SplitBuffer};
pub(crate) use stream::{Block, Next, StreamQueue, read_stream};
