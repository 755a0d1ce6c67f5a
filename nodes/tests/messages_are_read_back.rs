//! Each message is read back as it was written, and a cut one is refused or is another message.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tegula::holding::ReduceTotals;
use tegula_nodes::{ALIVE, Address, Order, Ready, Report};

fn address() -> Address {
    Address { at: "10.0.0.7:65535".to_owned(), token: u128::MAX / 3 }
}

fn bytes() -> Vec<u8> {
    b"some bytes".to_vec()
}

#[test]
fn orders_are_read_back() {
    let orders = [
        Order::Compare { listing: bytes() },
        Order::LeaveOut { covered: Vec::new() },
        Order::Map { lease: 1 << 40, tiles: 3..u32::MAX, from: None },
        Order::Map { lease: 0, tiles: 0..1, from: Some(address()) },
        Order::Input { from: address(), listing: bytes() },
        Order::Commit { lease: 7, save: None },
        Order::Commit { lease: 7, save: Some(u64::MAX) },
        Order::Drop { lease: 0 },
        Order::Fold { number: 3 },
        Order::Give,
        Order::Exchange { number: 1 << 33, partitions: 3..70, from: Vec::new() },
        Order::Exchange { number: 0, partitions: 0..0, from: vec![address(), address()] },
        Order::Write { number: 9, partitions: 1..2, from: vec![address()], path: "out/é".into() },
        Order::Blocks { bytes: bytes() },
        Order::Answer { counts: bytes() },
    ];
    for order in orders {
        let form = order.encode();
        assert_eq!(Order::decode(&form).as_ref(), Ok(&order));
        (0..form.len())
            .for_each(|length| assert_ne!(Order::decode(&form[..length]), Ok(order.clone())));
    }
    assert!(Order::decode(&[99]).is_err());
    assert!(Order::decode(&[5, 0]).is_err(), "bytes follow the order to give");
    let most = Order::Drop { lease: u64::MAX };
    assert_eq!(Order::decode(&[&[4][..], &[0xff; 9], &[1]].concat()), Ok(most));
    assert!(Order::decode(&[&[4][..], &[0xff; 9], &[3]].concat()).is_err(), "65 bits");
    assert!(Order::decode(&[&[4][..], &[0x80; 10], &[0]].concat()).is_err(), "eleven bytes");
}

#[test]
fn reports_are_read_back() {
    let ready = Ready {
        version: "1.2.3".to_owned(),
        digest: u128::MAX - 5,
        workers: 64,
        memory_bytes: u64::MAX,
        reads: true,
        address: Some(address()),
    };
    let reports = [
        Report::Ready(ready),
        Report::Differs { what: "a file is new".to_owned() },
        Report::Mapped { lease: 300 },
        Report::Saved { lease: 3, saved: vec![0, 255] },
        Report::Failed { lease: 3, cause: "the disk is full".to_owned() },
        Report::Folded { number: 1, bytes: 1 << 50, counts: bytes() },
        Report::Answered { number: 1, totals: ReduceTotals { keys: 7, key_bytes: 1 << 40 } },
        Report::Written {
            number: 1,
            totals: ReduceTotals { keys: 7, key_bytes: 1 << 40 },
            bytes: 300,
        },
        Report::Unreached { number: 2, cause: "nobody is there".to_owned() },
        Report::Blocks { bytes: vec![1; 1000] },
        Report::Given { counts: Vec::new() },
        Report::Alive,
        Report::Asks,
        Report::Leaves { cause: String::new() },
    ];
    for report in reports {
        let form = report.encode();
        assert_eq!(Report::decode(&form).as_ref(), Ok(&report));
        (0..form.len())
            .for_each(|length| assert_ne!(Report::decode(&form[..length]), Ok(report.clone())));
    }
    assert_eq!(Report::decode(ALIVE), Ok(Report::Alive));
    assert!(Report::decode(&[]).is_err());
    assert!(Report::decode(&[99]).is_err());
}
