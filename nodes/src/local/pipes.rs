//! A node's end of the pipes. A thread reads orders, so that a lease can be dropped while it is mapped and the
//! driver's end is seen at once; another says now and then that the node is alive.

use super::frame;
use crate::carrier::{ALIVE, BEAT, Here, Orders, Seat};
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tegula::{Error, Result};

/// Returns a seat of a node that takes orders from a pipe and reports to another.
///
/// # Errors
/// [`Error::System`] if threads cannot be started.
pub fn seat(from: File, to: File, here: Here) -> Result<Seat> {
    let to = Arc::new(Mutex::new(to));
    let beating = Arc::clone(&to);
    let (seat, orders) = Seat::new(here, move |report| tell(&to, report))?;
    start("orders", move || read_all(from, &orders))?;
    start("beats", move || {
        while tell(&beating, ALIVE).is_ok() {
            thread::sleep(BEAT);
        }
    })?;
    Ok(seat)
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|cause| Error::System { action: "start a thread", cause })
}

/// Hands on all orders. The end of the pipe is the end of the driver.
fn read_all(mut from: impl Read, orders: &Orders) {
    while let Ok(Some(message)) = frame::read(&mut from) {
        if !orders.put(&message) {
            return;
        }
    }
    orders.end();
}

fn tell(to: &Mutex<File>, report: &[u8]) -> Result<()> {
    let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
    let told: io::Result<()> = frame::write(&mut *to, report);
    told.map_err(|_| Error::Cancelled)
}
