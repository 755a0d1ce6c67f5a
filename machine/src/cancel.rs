//! The one flag by which a run is stopped. Workers look at it between splits, and inputs that block
//! look at it while they wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag shared between a run and those who may stop it. Clones are the same flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Returns a flag that is not raised.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Stops the runs that hold this flag; they end with [`Error::Cancelled`](crate::error::Error::Cancelled),
    /// each after at most the splits that its workers have in hand.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag was raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
