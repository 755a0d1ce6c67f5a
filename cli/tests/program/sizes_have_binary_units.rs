//! Sizes have binary units, where they are read and where they are shown.

use tegula_cli::parts::{AutoSize, shown_size as shown, size, size_or_auto};

#[test]
fn units_are_binary() {
    for (text, bytes) in
        [("1000", 1000), ("64k", 65536), ("4M", 4 << 20), ("1GiB", 1 << 30), ("2tb", 2 << 40)]
    {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for bad in
        ["", "k", "1.5M", "-1", "+1", "4 M", "4X", "1e3", "0", "99999999999999999999", "20000000T"]
    {
        assert!(size(bad).is_err(), "{bad}");
    }
    assert_eq!(size_or_auto("auto"), Ok(AutoSize(None)));
}

#[test]
fn sizes_are_shown_in_units() {
    assert_eq!(
        (shown(999), shown(1536), shown(3 << 40)),
        ("999 B".into(), "1.50 KiB".into(), "3.00 TiB".into())
    );
}
