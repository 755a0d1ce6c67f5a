//! What nodes tell each other: any bytes are refused or read, and what was read has one byte form.

use crate::choice;
use tegula_nodes::request::{Fault, Replies, Request, send};
use tegula_nodes::{Order, Report};

/// Bytes of a file that a node asks for.
const ASKED: usize = 48;

pub(crate) fn run(bytes: &[u8]) {
    let Some((which, bytes)) = choice(bytes) else { return };
    match which % 5 {
        0 => {
            if let Ok(order) = Order::decode(bytes) {
                assert_eq!(Order::decode(&order.encode()).ok(), Some(order));
            }
        }
        1 => {
            if let Ok(report) = Report::decode(bytes) {
                assert_eq!(Report::decode(&report.encode()).ok(), Some(report));
            }
        }
        2 => requests(bytes),
        3 => pieces(bytes),
        _ => fills(bytes),
    }
}

/// A node serves requests from one connection, until one is none.
fn requests(mut bytes: &[u8]) {
    loop {
        let before = bytes;
        let Ok(request) = Request::read(&mut bytes) else { return };
        assert_eq!(request.encode(), before[..before.len() - bytes.len()]);
    }
}

/// Pieces of pairs, until their end.
fn pieces(bytes: &[u8]) {
    let mut replies = Replies(bytes);
    let mut again = Vec::new();
    while let Ok(Some(piece)) = replies.piece() {
        send(&mut again, &piece).unwrap();
        assert!(bytes.starts_with(&again));
    }
}

/// Bytes of a file, which come in pieces, too.
fn fills(bytes: &[u8]) {
    let mut into = [0; ASKED];
    match Replies(bytes).fill(&mut into) {
        Ok(()) => {
            let mut replies = Replies(bytes);
            let mut whole = Vec::new();
            while whole.len() < ASKED {
                whole.extend(replies.piece().unwrap().unwrap());
            }
            assert_eq!(whole, into);
        }
        // The text is the other node's, and may be empty.
        Err(Fault::File(_)) => {}
        Err(Fault::Link(cause)) => assert!(!cause.to_string().is_empty()),
    }
}
