//! What nodes tell each other: any bytes are refused or read, and what was read has one byte form.

use crate::choice;
use tegula_nodes::{Order, Report};

pub(crate) fn run(bytes: &[u8]) {
    let Some((which, bytes)) = choice(bytes) else { return };
    if which & 1 == 0 {
        if let Ok(order) = Order::decode(bytes) {
            assert_eq!(Order::decode(&order.encode()).ok(), Some(order));
        }
    } else if let Ok(report) = Report::decode(bytes) {
        assert_eq!(Report::decode(&report.encode()).ok(), Some(report));
    }
}
