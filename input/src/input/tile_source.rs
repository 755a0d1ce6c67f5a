//! Tiles that the caller makes: acquired by the engine when it has room, released when the engine has copied
//! them (Ostrich, section 3, `acquire` and `release`).

use crate::sync::Mutex;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A source of tiles of the caller's own; see [`Input::tiles`](crate::input::Input::tiles). One thread calls
/// it, and may be blocked by it.
pub trait TileSource: Send {
    /// Bytes of whole records.
    type Tile: AsRef<[u8]>;

    /// Returns the next tile; `None` at the end. A record never continues in the next tile; a tile of no
    /// bytes is skipped. For jobs that count lines, a tile ends with a newline.
    ///
    /// # Errors
    /// Any; it ends the job.
    fn acquire(&mut self) -> io::Result<Option<Self::Tile>>;

    /// Gives a tile back, whose bytes are no longer looked at. Tiles come back in the order in which they
    /// were acquired, also if the job fails.
    fn release(&mut self, tile: Self::Tile) {
        drop(tile);
    }
}

/// A [`TileSource`] whose tiles' type is out of sight.
pub(crate) trait Tiles: Send {
    /// Shows the next tile to `look`, and releases it; `None` at the end.
    fn next(&mut self, look: &mut dyn FnMut(&[u8])) -> io::Result<Option<()>>;
}

impl<S: TileSource> Tiles for S {
    fn next(&mut self, look: &mut dyn FnMut(&[u8])) -> io::Result<Option<()>> {
        let Some(tile) = self.acquire()? else { return Ok(None) };
        // The job's cut looks at it, and may panic.
        let looked = catch_unwind(AssertUnwindSafe(|| look(tile.as_ref())));
        self.release(tile);
        looked.map(Some).or_else(|panic| resume_unwind(panic))
    }
}

/// Tiles as a part of an input.
#[derive(Clone)]
pub struct TileStream(Arc<Mutex<dyn Tiles>>);

impl TileStream {
    #[doc(hidden)]
    pub fn new(source: impl TileSource + 'static) -> TileStream {
        TileStream(Arc::new(Mutex::new(source)))
    }

    /// Shows the next tile to `look`; `None` at the end.
    pub fn next(&self, look: &mut dyn FnMut(&[u8])) -> io::Result<Option<()>> {
        self.0.lock().next(look)
    }
}

impl fmt::Debug for TileStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TileStream")
    }
}

impl PartialEq for TileStream {
    fn eq(&self, other: &TileStream) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TileStream {}
