//! How often an answer is shown: every part, time or number of bytes.

use std::time::Duration;
use tegula::Every;
use tegula_cli::parts::every;

#[test]
fn how_often_is_a_part_a_time_or_bytes() {
    let seconds = |seconds| Every::Time(Duration::from_secs_f64(seconds));
    for (text, expected) in [
        ("every=5%", Every::Part(0.05)),
        ("every=0.5%", Every::Part(0.005)),
        ("every=10s", seconds(10.0)),
        ("every=1.5s", seconds(1.5)),
        ("every=500ms", seconds(0.5)),
        ("every=2m", seconds(120.0)),
        ("every=1G", Every::Bytes(1 << 30)),
        ("every=1000", Every::Bytes(1000)),
        // As sizes are written everywhere else.
        ("every=2M", Every::Bytes(2 << 20)),
    ] {
        assert_eq!(every(text), Ok(expected), "{text}");
    }
    for bad in
        ["5%", "every=", "every=0%", "every=101%", "every=-1s", "every=0s", "every=x", "every=0"]
    {
        assert!(every(bad).is_err(), "{bad}");
    }
    for bad in ["every=1e19s", "every=1000001h", "every=1e300m"] {
        assert!(every(bad).unwrap_err().contains("at most 1000000h"), "{bad}");
    }
}
