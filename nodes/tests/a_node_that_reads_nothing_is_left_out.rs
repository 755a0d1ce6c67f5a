//! A driver does not wait for a process that was stopped and whose pipe is full.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;
use std::time::{Duration, Instant};
use tegula_nodes::local::LocalNodes;
use tegula_nodes::{Carrier, Event};

#[test]
fn and_the_driver_goes_on() {
    let mut command = Command::new("sleep");
    command.arg("60");
    let mut nodes = LocalNodes::start([command]).unwrap();
    let began = Instant::now();
    (0..12).for_each(|_| nodes.tell(0, &vec![7; 1 << 20]));
    assert!(matches!(nodes.next(Duration::from_secs(10)), Some(Event::Gone(0, _))));
    assert!(began.elapsed() < Duration::from_secs(20) && nodes.is_empty());
}
