//! Splits give lines, and name the records that they refuse.

use tegula_input::bad::BadRecords;
use tegula_input::origin::{Origin, OriginKind};
use tegula_input::split::Split;

#[test]
fn lines_end_at_newlines_and_at_the_end() {
    let bad = BadRecords::new(false, false);
    let origin = Origin { part: 0, kind: OriginKind::Memory(b"") };
    let lines = |text| Split::new(text, origin, 0, 0, &bad).lines().collect::<Vec<&[u8]>>();
    assert_eq!(lines(b"a\n\nb"), [&b"a"[..], b"", b"b"]);
    assert_eq!(lines(b"a\n"), [&b"a"[..]]);
    assert!(lines(b"").is_empty());
}

#[test]
fn an_error_names_the_record_it_was_given() {
    let bad = BadRecords::new(false, false);
    let origin = Origin { part: 0, kind: OriginKind::Memory(b"") };
    let split = Split::new(b"one two", origin, 100, 0, &bad);
    let error = |record| split.bad(record, "bad").unwrap_err().to_string();
    assert_eq!(error(&split.bytes()[4..]), "memory, byte 104: bad");
    assert_eq!(error(b"elsewhere"), "memory, byte 100: bad");
}
